"""Undoes changes to protected files: moves new ones aside, and restores replaced ones.

No content is lost: it goes to a private directory that programs in the sandbox can neither read nor write, and can be
put back from there. Nothing outside the given roots is touched, and links in a path are not followed.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import shutil
import stat
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from msgspec.structs import replace

from workbench.files.absent_paths import AbsentPaths
from workbench.files.root_directory import AnchoredEntry, Root
from workbench.files.stat_keys import stat_key
from workbench.risk.paths import within
from workbench.risk.protected_files import Baseline
from workbench.risk.protected_names import code_reason
from workbench.risk.protected_repositories import GitPathFinder
from workbench.risk.protected_state import PathChange, PathState

MOST_COPIED: Final = 64_000_000
"""The maximum number of bytes to copy from one path; anything larger is moved without a copy, on the same file
system.
"""
_MOST_ENTRIES, _DEEPEST = 10_000, 64
_CHUNK: Final = 1 << 20
_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class SetAside(NamedTuple):
    """Something that was moved away from a protected path."""

    path: str
    saved: str
    """Its present path."""
    digest: bytes = b""
    """A hash of the copy; empty if it was moved because it was too large to copy. That cannot be put back, because a
    process that has it open may still change it.
    """


class Restoration(NamedTuple):
    """The outcome of restoring one path."""

    is_done: bool = False
    moved: SetAside | None = None
    """What was at the path instead; None if nothing was moved."""


def undo(changes: Sequence[PathChange], before: Baseline, roots: Sequence[Root], directory: Path) -> list[SetAside]:
    """Undo the changes as far as possible: restore files and links that existed `before`, and move new ones below
    `directory`.

    A new directory of protected files is moved as a whole. Returns what was moved.
    """
    moved: dict[str, SetAside] = {}
    # By path, because a link is undone before the files behind it.
    for change in sorted(changes, key=lambda change: change.real):
        if change.before is not None:
            restored = restore_protected(change._replace(path=change.real), roots, _saved(directory, change.path))
            moved |= {change.real: restored.moved} if restored.moved is not None else {}
        elif (path := _topmost(change.real, before, roots)) not in moved:
            with suppress(OSError, ValueError):
                moved[path] = _moved(path, roots, directory)
    return list(moved.values())


def undoable(
    changes: Iterable[PathChange], before: Baseline, roots: Sequence[Root], workspace: str
) -> list[PathChange]:
    """Return the changes that are inside a root and can be undone without breaking anything."""

    @cache  # thousands of files may be in one directory
    def is_of_new_repository(directory: str) -> bool:
        return _is_in_new_repository(directory, before, workspace)

    def is_undoable(change: PathChange) -> bool:
        # One file of an installation, or of what git checked out into a new directory, is not taken from the others.
        if "/site-packages/" in change.path or change.path.rpartition("/")[0].endswith(("/bin", "/.bin")):
            return False
        if root_of(change.real, roots) is None:
            return False
        is_of_git = "/.git/" in change.real
        return change.before is not None or is_of_git or not is_of_new_repository(change.real.rpartition("/")[0])

    return list(filter(is_undoable, changes))


def _moved(path: str, roots: Sequence[Root], directory: Path) -> SetAside:
    """Move something below `directory`. Raises OSError or ValueError."""
    saved, root = _saved(directory, path), root_of(path, roots)
    if root is None:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), path)
    with root.entry(Path(path)) as entry:
        return _move(entry, saved)


def _saved(directory: Path, path: str) -> Path:
    return directory / f"{time.time_ns()}-{Path(path).name}"


def root_of(path: str, roots: Sequence[Root]) -> Root | None:
    """Return the root that contains a normalized path; None if there is none."""
    # A root without an identity is a directory that did not exist.
    return next((root for root in roots if root.identity is not None and root.holds(Path(path))), None)


def put_back(moved: SetAside, roots: Sequence[Root]) -> bool:
    """Put something back where it was, moving aside what is there now.

    Returns False, with nothing changed, if that is not possible or if the saved content has changed.
    """
    root, saved = root_of(moved.path, roots), Path(moved.saved)
    if root is None or not moved.digest:
        return False
    try:
        with root.entry(Path(moved.path), make=True) as entry, Root(saved.parent).entry(saved) as source:
            if not _replace_by_copy(entry, source, moved.digest):
                return False
            with suppress(OSError):
                _delete(source)
    except (OSError, ValueError):
        return False
    return True


def _replace_by_copy(entry: AnchoredEntry, source: AnchoredEntry, digest: bytes) -> bool:
    """Replace `entry` with a copy of `source`, if the copy has this digest; return whether it has. Raises OSError."""
    name = f".ohw-{secrets.token_hex(8)}.tmp"
    copy = replace(entry, path=entry.path.with_name(name), names=[*entry.names[:-1], name])
    try:
        if _copy(source, copy) != digest:
            return False
        if entry.mode():
            _move(entry, source.path.with_name(f"{time.time_ns()}-{entry.name}"))
        entry.rename_from(name)
    finally:
        _delete(copy)
    return True


def _is_in_new_repository(directory: str, before: Baseline, workspace: str) -> bool:
    """Return whether a directory belongs to the work tree of a repository whose top directory did not exist before."""
    above = directory
    while within(above, workspace) and above != workspace and not before.had_directory(above):
        if _is_repository(f"{above}/.git"):
            return True
        above = above.rpartition("/")[0]
    return False


def _is_repository(pointer: str) -> bool:
    """Return whether a `.git` is a git directory, or a file that names one, as in a linked work tree."""
    named = GitPathFinder((), AbsentPaths()).named_by(pointer)
    head, common = Path(named.git, "HEAD"), Path(named.common or named.git)
    return head.is_file() and (common / "objects").is_dir() and (common / "refs").is_dir()


def _topmost(path: str, before: Baseline, roots: Sequence[Root]) -> str:
    """Return the topmost new directory above a path that is protected as a whole; otherwise the path itself.

    A git directory is not moved as a whole: only the files in it that make git run something.
    """
    root = root_of(path, roots)
    top = str(root.path) if root is not None else "/"
    result, above = path, path.rpartition("/")[0]
    while len(above) > len(top) and not before.had_directory(above):
        relative = above[len(top) :]
        if "/.git/" not in f"{path[len(top) :]}/" and code_reason(relative):
            result = above
        above = above.rpartition("/")[0]
    return result


def restore_protected(change: PathChange, roots: Sequence[Root], saved: Path) -> Restoration:
    """Restore a file or link as far as possible, moving its current content to `saved`.

    A file is restored only if the current one is still the one that was scanned; a link replaces whatever is there now.
    """
    path = Path(change.path)
    root = root_of(change.path, roots)
    if root is None or ".." in path.parts or not _is_restorable(change):
        return Restoration()
    moved = None
    try:
        with root.entry(path, make=change.before is not None) as entry:
            if not _is_replaced_link(change) and not _holds(entry, change.after):
                return Restoration()
            moved = _move(entry, saved) if entry.mode() else None
            if change.before is not None:
                _restore(entry, change.before)
    except (OSError, ValueError):
        return Restoration(moved=moved)
    return Restoration(True, moved)


def _is_replaced_link(change: PathChange) -> bool:
    return change.before is not None and change.before.kind == "link"


def _is_restorable(change: PathChange) -> bool:
    """Return whether the change can be undone.

    Both states must be files or links of known content, not reached through a link. Files of a git repository that no
    longer exists are not restored.
    """
    if change.is_behind_link:
        return False
    states = (change.before, None if _is_replaced_link(change) else change.after)
    is_restorable = all(state is None or (state.kind != "other" and state.content is not None) for state in states)
    above, is_git, _ = change.path.partition("/.git/")
    return is_restorable and (not is_git or (os.path.isdir(f"{above}/.git") and not os.path.islink(f"{above}/.git")))  # noqa: PTH112, PTH114


def _holds(entry: AnchoredEntry, state: PathState | None) -> bool:
    """Return whether the entry is still in the state that was scanned; None means that there was no file."""
    try:
        info = entry.stat()
    except FileNotFoundError:
        return state is None
    return state is not None and stat_key(info) == state.key


def _restore(entry: AnchoredEntry, state: PathState) -> None:
    """Create the file or link in this state. Raises FileExistsError if something is there."""
    content = state.content or b""
    if state.kind == "link":
        entry.symlink_to(os.fsdecode(content))
        return
    with os.fdopen(entry.open(os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
        os.fchmod(file.fileno(), state.mode)


def _move(entry: AnchoredEntry, saved: Path) -> SetAside:
    """Move a file, link or directory to `saved`. Raises OSError, with nothing lost.

    It is copied even on the same file system, because a process that still has it open must not reach the saved
    content. Only what is too large to copy is moved.
    """
    digest = b""
    with Root(saved.parent).entry(saved) as target:
        try:
            digest = _copy(entry, target)
        except OSError as error:
            _delete(target)
            if error.errno != errno.EFBIG:
                raise
            os.rename(entry.name, saved.name, src_dir_fd=entry.directory, dst_dir_fd=target.directory)
        else:
            _delete(entry)
    return SetAside(str(entry.path), str(saved), digest)


def _copy(source: AnchoredEntry, target: AnchoredEntry) -> bytes:
    """Copy a file, link or directory to an unused name; sockets, pipes and devices are skipped.

    Returns a hash of the copy, which does not depend on the name. Raises OSError, with EFBIG if there is too much to
    copy.
    """
    copy = _Copy()
    copy.copy(source.name, source.directory, target.name, target.directory, 0)
    return copy.hash.digest()


class _Copy:
    """One copy, with limits on the total number of bytes and entries."""

    def __init__(self) -> None:
        self._bytes, self._entries = MOST_COPIED, _MOST_ENTRIES
        self.hash = hashlib.sha256()

    def copy(self, name: str, source: int, new: str, target: int, depth: int) -> None:
        """Copy an entry of the directory `source` to the entry `new` of `target`, both open descriptors. Raises
        OSError.
        """
        info = os.stat(name, dir_fd=source, follow_symlinks=False)
        self._entries -= 1
        if self._entries < 0 or depth > _DEEPEST:
            raise _too_much()
        self._record(depth, name if depth else "", stat.S_IFMT(info.st_mode))
        if stat.S_ISLNK(info.st_mode):
            behind = os.readlink(name, dir_fd=source)
            os.symlink(behind, new, dir_fd=target)
            self._record(behind)
        elif stat.S_ISDIR(info.st_mode):
            self._copy_directory(name, source, new, target, depth)
        elif stat.S_ISREG(info.st_mode):
            self._copy_file(name, source, new, target)

    def _copy_directory(self, name: str, source: int, new: str, target: int, depth: int) -> None:
        os.mkdir(new, 0o700, dir_fd=target)
        inside, copied = _opened(name, _DIRECTORY, source), os.open(new, _DIRECTORY, dir_fd=target)
        try:
            for each in sorted(os.listdir(inside)):  # noqa: PTH208 - a descriptor
                self.copy(each, inside, each, copied, depth + 1)
            mode = stat.S_IMODE(os.fstat(inside).st_mode) & 0o777 | 0o700
            os.fchmod(copied, mode)
            self._record(mode)
        finally:
            os.close(inside)
            os.close(copied)

    def _copy_file(self, name: str, source: int, new: str, target: int) -> None:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=target)
        with os.fdopen(descriptor, "wb") as copied, os.fdopen(_opened(name, flags, source), "rb") as file:
            info = os.fstat(file.fileno())
            if not stat.S_ISREG(info.st_mode):
                raise OSError(errno.ESTALE, "It is not a regular file")
            content = hashlib.sha256()
            while chunk := file.read(_CHUNK):
                self._bytes -= len(chunk)
                if self._bytes < 0:
                    raise _too_much()
                copied.write(chunk)
                content.update(chunk)
            mode = stat.S_IMODE(info.st_mode) & 0o777
            os.fchmod(copied.fileno(), mode)
            self._record(mode, content.digest())

    def _record(self, *facts: object) -> None:
        self.hash.update(f"{facts!r}\n".encode())


def _too_much() -> OSError:
    return OSError(errno.EFBIG, os.strerror(errno.EFBIG))


def _opened(name: str, flags: int, directory: int) -> int:
    """Open a file or directory, first changing its permissions if they forbid that. Raises OSError."""
    try:
        return os.open(name, flags, dir_fd=directory)
    except PermissionError:
        # no link is followed, because a descriptor of the entry itself is opened first
        entry = os.open(name, getattr(os, "O_PATH", os.O_RDONLY) | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
        try:
            os.chmod(f"/proc/self/fd/{entry}", 0o700)  # noqa: PTH101 - follows the link in /proc
        finally:
            os.close(entry)
        return os.open(name, flags, dir_fd=directory)


def _delete(entry: AnchoredEntry) -> None:
    """Delete the entry with everything in it, if it exists. Raises OSError."""
    if stat.S_ISDIR(entry.mode()):
        shutil.rmtree(entry.name, dir_fd=entry.directory)
    else:
        entry.unlink()
