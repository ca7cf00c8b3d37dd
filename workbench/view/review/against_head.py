"""What differs from git's HEAD in a folder, as changed files. Called in a thread; nothing of the repository is run."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from workbench.errors import WorkbenchError
from workbench.files.git import run_git
from workbench.view.state import FileState

MOST_FILES = 2_000
LARGEST = 5_000_000
"""Bytes of a file that is still compared."""


def is_repository(folder: Path) -> bool:
    """Whether a repository is around the folder; no program is started to find out."""
    return any((place / ".git").exists() for place in (folder, *folder.parents))


def files_against_head(folder: Path) -> list[FileState]:
    """Files of the folder that differ from HEAD, new ones included. Raises WorkbenchError when git cannot say."""
    top = Path(os.fsdecode(_git(["rev-parse", "--show-toplevel"], folder)).removesuffix("\n"))
    try:
        inside = Path(os.path.realpath(folder)).relative_to(os.path.realpath(top))
    except ValueError:
        raise WorkbenchError("the repository here says that its files lie in another folder (core.worktree)") from None
    only = [str(inside)] if inside.parts else []
    has_head = run_git(["rev-parse", "--verify", "-q", "HEAD"], cwd=folder).ok
    tracked = ["diff-index", "--name-only", "-z", "HEAD"] if has_head else ["ls-files", "-z"]
    listed = _git([*tracked, "--", *only], top)
    listed += _git(["ls-files", "-z", "--others", "--exclude-standard", "--", *only], top)
    names = sorted({name for name in listed.split(b"\0") if name})[:MOST_FILES]
    blobs = _blobs(names, top) if has_head and names else {}
    found = [_file(top / os.fsdecode(name), blobs.get(name)) for name in names]
    return [file for file in found if file.before != file.after or file.note]


def _blobs(names: Iterable[bytes], top: Path) -> dict[bytes, bytes]:
    """What HEAD holds of the files."""
    ids: dict[bytes, bytes] = {}
    wanted = set(names)
    for entry in _git(["ls-tree", "-r", "-z", "--full-tree", "HEAD"], top).split(b"\0"):
        about, _, name = entry.partition(b"\t")
        if name in wanted and b" blob " in about:
            ids[name] = about.split()[2]
    output = _git(["cat-file", "--batch"], top, b"".join(blob + b"\n" for blob in ids.values()))
    found: dict[bytes, bytes] = {}
    at = 0
    for name in ids:
        end = output.index(b"\n", at)
        size = int(output[at:end].split()[2])
        found[name] = output[end + 1 : end + 1 + size]
        at = end + size + 2
    return found


def _file(path: Path, before: bytes | None) -> FileState:
    after, why = _on_disk(path)
    sizes = f"{_size(before)} → {_size(after)}"
    if why:
        return FileState(str(path), None, None, note=why)
    if max(len(before or b""), len(after or b"")) > LARGEST:
        return FileState(str(path), None, None, note=f"too large to be compared here, {sizes}")
    try:
        return FileState(str(path), _text(before), _text(after))
    except UnicodeDecodeError:
        same = before == after
        return FileState(str(path), None, None, note="" if same else f"not text in UTF-8, {sizes}")


def _on_disk(path: Path) -> tuple[bytes | None, str]:
    """What the file holds, or why it is not read."""
    try:
        found = path.lstat()
        if stat.S_ISLNK(found.st_mode):
            return os.fsencode(path.readlink()), ""
        if not stat.S_ISREG(found.st_mode):
            return None, "not a plain file"
        if found.st_size > LARGEST:
            return None, f"too large to be compared here, {found.st_size:,} bytes"
        return path.read_bytes(), ""
    except FileNotFoundError:
        return None, ""
    except OSError as error:
        return None, f"cannot be read: {error.strerror}"


def _text(content: bytes | None) -> str | None:
    return None if content is None else content.decode("utf-8")


def _size(content: bytes | None) -> str:
    return "nothing" if content is None else f"{len(content):,} bytes"


def _git(arguments: list[str], folder: Path, data: bytes = b"") -> bytes:
    answer = run_git(arguments, cwd=folder, data=data)
    if not answer.ok:
        raise WorkbenchError(f"git cannot say what differs from HEAD: {answer.error or 'it failed'}")
    return answer.output
