"""What a repository around a workspace ignores in it: patterns of the `.gitignore` files above, as they read from
within; used by the versions, whose own repository begins at the workspace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path


def patterns_above(workspace: Path) -> Iterator[str]:
    """The patterns of the folders between the root of the repository and the workspace, the outermost first.

    None of those of a repository that ignores the whole workspace, such as one of a home folder that ignores `*`.
    """
    found: list[str] = []
    root = next((folder for folder in (workspace, *workspace.parents) if (folder / ".git").exists()), workspace)
    between = [folder for folder in reversed(workspace.parents) if folder.is_relative_to(root)]
    for file in [root / ".git/info/exclude", *(folder / ".gitignore" for folder in between)]:
        folder = root if file.name == "exclude" else file.parent
        inside = workspace.relative_to(folder).parts
        with suppress(OSError):
            for line in file.read_text(errors="surrogateescape").splitlines():
                if any(fnmatchcase(name, line.strip("/ ")) for name in inside):
                    return
                found += _seen_from(line, inside)
    yield from found


def _seen_from(line: str, inside: Sequence[str]) -> Iterator[str]:
    """A pattern as it reads in the folder `inside`; nothing when it is about other folders."""
    sign, body = ("!", line[1:]) if line.startswith("!") else ("", line)
    if not body.strip() or body.startswith("#"):
        return
    if "/" not in body.rstrip().rstrip("/"):
        yield line
        return
    parts = body.removeprefix("/").split("/")
    for name in inside:
        if not parts or parts[0] == "**":
            break
        if not fnmatchcase(name, parts.pop(0)):
            return
    if any(parts):
        yield f"{sign}{'' if parts[0] == '**' else '/'}{'/'.join(parts)}"
