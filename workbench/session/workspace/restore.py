"""Restores files of the workspace from a snapshot.

Only differences are written, and never through a link that leads out of the workspace.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Final

import msgspec

from workbench.errors import WorkbenchError
from workbench.files import atomic
from workbench.files.root_directory import AnchoredEntry, Root
from workbench.session.workspace.metadata import Metadata
from workbench.session.workspace.repository import LINK, Change, SnapshotError, SnapshotRepository
from workbench.text import counted, visible_path

_NOTHING: Final = "000000"
_NAMED = 5
_UNKNOWN: Mapping[str, bytes | None] = MappingProxyType({})
_CHANGED: Final = "it has changed meanwhile and is left as it is"


class RestoredCount(msgspec.Struct, frozen=True):
    """The number of files that were written and of directories that were created."""

    files: int = 0
    directories: int = 0

    @property
    def summary(self) -> str:
        """The result in one line for the user."""
        files = counted(self.files, "file") if self.files else ""
        directories = (
            f"{self.directories:,} director{'y' if self.directories == 1 else 'ies'}" if self.directories else ""
        )
        what = " and ".join(filter(None, (files, directories)))
        return f"{what} restored" if what else "every file is there as it was"


def restore(repository: SnapshotRepository, version: str) -> list[Change]:
    """Make the workspace match the version; return the files that were changed. Raises SnapshotError."""
    changes = repository.difference(repository.snapshot(), version)
    now, then = repository.metadata, repository.metadata_of(version)
    write(repository, changes, then)
    written = {change.path for change in changes}
    others = {*now.modes, *then.modes} - written
    for file in repository.files_of(version):
        if file.path in others and not file.has_link:
            set_permissions(repository, file.path, _permissions(then, file))
    for path in sorted({*now.directories} - {*then.directories}, reverse=True):
        with suppress(SnapshotError):  # the directory is no longer empty
            _change(repository, path, AnchoredEntry.rmdir)
    make_directories(repository, then.directories, then)
    return changes


def restore_paths(
    repository: SnapshotRepository, version: str, paths: Collection[str] = (), *, force: bool = False
) -> RestoredCount:
    """Write what a version contains at or below `paths` (everything if empty) where the workspace differs.

    Returns how much was written. Raises WorkbenchError and writes nothing if the version contains nothing there, if a
    file has other content now and `force` is not given, or if a directory that is not empty has taken a file's place.
    """
    metadata = repository.metadata_of(version)
    held = [change for change in repository.files_of(version) if _is_requested(change.path, paths)]
    directories = [path for path in metadata.directories if _is_requested(path, paths)]
    if paths and not (held or directories):
        raise WorkbenchError(f"this version contains nothing at {', '.join(map(visible_path, paths))}")
    contents = repository.contents(list(dict.fromkeys(change.after for change in held)))
    before = {change.path: now for change in held for now in _contents_at(repository, change.path)}
    differing = [change for change in held if not _is_there(repository, change, contents, before, metadata)]
    in_the_way = _in_the_way(repository.workspace, [change.path for change in held], directories)
    newer = [change.path for change in differing if _holds_other(change, contents[change.after], before)]
    newer = [*in_the_way, *(path for path in newer if not _is_inside(path, in_the_way))]
    if newer and not force:
        names = ", ".join(visible_path(path) for path in newer[:_NAMED])
        more = f" and {len(newer) - _NAMED} more" if len(newer) > _NAMED else ""
        raise WorkbenchError(f"these files have changed since: {names}{more}; --force overwrites them")
    full = [path for path in newer if _is_full_directory(repository.workspace / path)]
    if full:
        names = ", ".join(visible_path(path) for path in full[:_NAMED])
        raise WorkbenchError(f"directories that are not empty have taken the place of {names}; move them away first")
    for path in in_the_way:
        _change(repository, path, AnchoredEntry.unlink)
    write(repository, differing, metadata, before)
    return RestoredCount(len(differing), make_directories(repository, directories, metadata))


def write(
    repository: SnapshotRepository,
    changes: Sequence[Change],
    metadata: Metadata,
    before: Mapping[str, bytes | None] = _UNKNOWN,
) -> None:
    """Apply changes to the workspace, removals first. Raises SnapshotError.

    `before` maps paths to the contents of files and the targets of links as they were read, or to None if nothing
    existed. A path whose content has changed since is not written, which is an error.
    """
    contents = repository.contents(list(dict.fromkeys(change.after for change in changes if change.after)))
    root = repository.root
    removed = dict[str, None]()
    for change in changes:
        if not change.after or change.mode_before not in (_NOTHING, change.mode_after):
            _guarded(repository, change.path, partial(_remove, root, change.path, before))
            removed[change.path] = None
    before = {**before, **removed}
    for change in changes:
        if change.after:
            put = partial(_put, root, change, contents[change.after], _permissions(metadata, change), before)
            _guarded(repository, change.path, put)


def set_permissions(repository: SnapshotRepository, path: str, mode: int) -> None:
    """Set the permissions of a file. Raises SnapshotError."""
    _change(repository, path, lambda entry: entry.chmod(mode))


def make_directories(repository: SnapshotRepository, paths: Collection[str], metadata: Metadata) -> int:
    """Create the missing directories and set the permissions of all; return the number created."""
    count = 0
    for path in sorted(paths):
        is_missing = not (repository.workspace / path).is_dir()
        count += is_missing
        _change(repository, path, partial(_make_directory, permissions=metadata.directories[path]))
    return count


def set_directories(repository: SnapshotRepository, directories: Mapping[str, int | None]) -> list[str]:
    """Create the directories that have permissions and set these; remove those with None if they are empty.

    Return one line for each failure.
    """
    failures: list[str] = []
    for path in sorted((path for path, mode in directories.items() if mode is None), reverse=True):
        if (repository.workspace / path).is_dir():
            with suppress(SnapshotError):  # the directory is not empty
                _change(repository, path, AnchoredEntry.rmdir)
    for path, mode in sorted(directories.items()):
        if mode is not None:
            try:
                _change(repository, path, partial(_make_directory, permissions=mode & 0o777))
            except SnapshotError as error:
                failures.append(str(error))
    return failures


def _make_directory(entry: AnchoredEntry, permissions: int) -> None:
    with suppress(FileExistsError):
        entry.mkdir()
    if stat.S_ISDIR(entry.mode()):
        entry.chmod(permissions)


def _permissions(metadata: Metadata, change: Change) -> int:
    return metadata.permissions(change.path, change.mode_after)


def _is_requested(path: str, requested: Collection[str]) -> bool:
    return not requested or any(one in (".", path) or path.startswith(f"{one}/") for one in requested)


def _in_the_way(workspace: Path, paths: Collection[str], directories: Collection[str]) -> list[str]:
    """Return the files and links that have taken the place of the directories, or of directories above the paths."""
    above = {str(directory) for path in (*paths, *directories) for directory in PurePath(path).parents}
    needed = {*directories, *above} - {"."}
    blocking: list[str] = []
    for path in sorted(needed):
        with suppress(OSError):
            if not stat.S_ISDIR((workspace / path).lstat().st_mode) and not _is_inside(path, blocking):
                blocking.append(path)
    return blocking


def _is_inside(path: str, directories: Collection[str]) -> bool:
    return any(path.startswith(f"{directory}/") for directory in directories)


def _is_full_directory(path: Path) -> bool:
    with suppress(OSError):
        return stat.S_ISDIR(path.lstat().st_mode) and any(path.iterdir())
    return False


def _is_there(
    repository: SnapshotRepository,
    change: Change,
    contents: Mapping[str, bytes],
    now: Mapping[str, bytes | None],
    metadata: Metadata,
) -> bool:
    """Return whether the file is exactly as in the version, including its permissions."""
    if now.get(change.path) is None or _holds_other(change, contents[change.after], now):
        return False
    try:
        mode = (repository.workspace / change.path).lstat().st_mode
    except OSError:
        return False
    if change.has_link or stat.S_ISLNK(mode):
        return change.has_link and stat.S_ISLNK(mode)
    return stat.S_IMODE(mode) == _permissions(metadata, change)


def _holds_other(change: Change, raw: bytes, now: Mapping[str, bytes | None]) -> bool:
    """Return whether the content at the path is not the version's; False if nothing is there, True if it is
    unreadable.
    """
    return change.path not in now or now[change.path] not in (None, raw)


def _contents_at(repository: SnapshotRepository, path: str) -> Iterator[bytes | None]:
    """Yield the content of a file or link, or None if nothing is there; yield nothing if it cannot be read."""
    with suppress(OSError):
        yield bytes_at(repository.root.path / path, repository.root)


def blob_id(raw: bytes) -> str:
    """Return the hash of a git blob with this content."""
    return hashlib.sha1(b"blob %d\0" % len(raw) + raw, usedforsecurity=False).hexdigest()


def bytes_at(path: Path, root: Root) -> bytes | None:
    """Return the bytes of a file or the target of a link, or None if nothing is there. Raises OSError."""
    try:
        with root.entry(path) as entry:
            return entry.target() if stat.S_ISLNK(entry.stat().st_mode) else entry.read()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _change(repository: SnapshotRepository, path: str, work: Callable[[AnchoredEntry], None]) -> None:
    """Apply `work` to the entry at the path, creating directories above it. Raises SnapshotError."""

    def changed() -> None:
        with repository.root.entry(repository.root.path / path, make=True) as entry:
            work(entry)

    _guarded(repository, path, changed)


def _guarded(repository: SnapshotRepository, path: str, work: Callable[[], None]) -> None:
    try:
        work()
    except OSError as error:
        name = visible_path(path or str(repository.workspace))
        raise SnapshotError(f"{name} could not be put back: {error.strerror or error}") from error


def _remove(root: Root, path: str, before: Mapping[str, bytes | None]) -> None:
    """Delete the file, then the empty directories above it; no link is followed out of `root`."""
    whole = root.path / path
    with suppress(FileNotFoundError), root.entry(whole) as entry:
        if not stat.S_ISDIR(entry.mode()):
            _unlink(entry, path, before)
    for directory in whole.parents:
        if directory == root.path:
            return
        try:
            with root.entry(directory) as entry:
                entry.rmdir()
        except OSError:
            return


def _unlink(entry: AnchoredEntry, path: str, before: Mapping[str, bytes | None]) -> None:
    """Delete a file or link. Raises OSError and deletes nothing if its content is not what `before` says."""
    if path not in before:
        entry.unlink()
        return
    expected = before[path]
    if expected is None:
        raise OSError(errno.ESTALE, _CHANGED, str(entry.path))
    atomic.remove(entry.path, entry.root, before=expected)


def _put(root: Root, change: Change, raw: bytes, permissions: int, before: Mapping[str, bytes | None]) -> None:
    whole = root.path / change.path
    expected = before.get(change.path)
    with root.entry(whole, make=True) as entry:
        now = entry.mode()
        if not now and expected is not None:
            raise OSError(errno.ESTALE, _CHANGED, str(whole))
        if now and (change.mode_after == LINK or not stat.S_ISREG(now)):
            entry.rmdir() if stat.S_ISDIR(now) else _unlink(entry, change.path, before)
            now = 0
        if change.mode_after == LINK:
            entry.symlink_to(os.fsdecode(raw))
            return
    if now and change.path in before and expected is None:
        raise OSError(errno.ESTALE, _CHANGED, str(whole))
    if now:
        atomic.replace(whole, raw, root, before=expected)
    else:
        atomic.write_new(whole, raw, root, mode=permissions)
    with root.entry(whole) as entry:
        if stat.S_IMODE(entry.stat().st_mode) != permissions:
            entry.chmod(permissions)
