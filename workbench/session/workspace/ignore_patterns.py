"""The ignore patterns of the repository around a workspace, rewritten so that they apply from the workspace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path


def patterns_above(workspace: Path) -> Iterator[str]:
    """Yield the ignore patterns of the directories above the workspace, from the root of the repository down.

    Yield none if one of them ignores the whole workspace, as in a home directory whose repository ignores `*`.
    """
    patterns: list[str] = []
    root = next(
        (directory for directory in (workspace, *workspace.parents) if (directory / ".git").exists()), workspace
    )
    between = [directory for directory in reversed(workspace.parents) if directory.is_relative_to(root)]
    for file in [root / ".git/info/exclude", *(directory / ".gitignore" for directory in between)]:
        directory = root if file.name == "exclude" else file.parent
        inside = workspace.relative_to(directory).parts
        with suppress(OSError):
            for line in file.read_text(errors="surrogateescape").splitlines() if file.is_file() else ():
                if any(fnmatchcase(name, line.strip("/ ")) for name in inside):
                    return
                patterns += _relative_pattern(line, inside)
    yield from patterns


def _relative_pattern(line: str, inside: Sequence[str]) -> Iterator[str]:
    """Yield an ignore pattern rewritten for the directory `inside`; yield nothing if it applies to other directories
    only.
    """
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
