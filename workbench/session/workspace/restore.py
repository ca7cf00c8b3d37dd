"""Puts files of a workspace back as a version holds them: bytes, permissions, links and empty directories.

Only what differs is written, and never through a link that leads out of the workspace.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Final

from workbench.errors import WorkbenchError
from workbench.files import atomic
from workbench.files.anchored import AnchoredEntry, Root
from workbench.session.workspace.metadata import Metadata
from workbench.session.workspace.repository import Change, Repository, VersionsFail
from workbench.text import counted, visible

_LINK: Final = "120000"
_NOTHING: Final = "000000"
_NAMED = 5
_UNKNOWN: Mapping[str, bytes] = MappingProxyType({})


@dataclass(frozen=True)
class BroughtBack:
    """How much was written again."""

    files: int = 0
    directories: int = 0

    @property
    def told(self) -> str:
        """One line for the user."""
        files = counted(self.files, "file") if self.files else ""
        folders = f"{self.directories:,} director{'y' if self.directories == 1 else 'ies'}" if self.directories else ""
        what = " and ".join(filter(None, (files, folders)))
        return f"{what} brought back" if what else "every file is there as it was"


def restore(repository: Repository, version: str) -> list[Change]:
    """Make the workspace hold what the version holds; the files that were changed. Raises VersionsFail."""
    changes = repository.difference(repository.take(), version)
    now, then = repository.metadata, repository.metadata_of(version)
    write(repository, changes, then)
    written = {change.path for change in changes}
    others = {*now.modes, *then.modes} - written
    for file in repository.files_of(version):
        if file.path in others and not file.has_link:
            set_permissions(repository, file.path, _permissions(then, file))
    for path in sorted({*now.directories} - {*then.directories}, reverse=True):
        with suppress(VersionsFail):  # something is in it by now
            _change(repository, path, AnchoredEntry.rmdir)
    make_directories(repository, then.directories, then)
    return changes


def bring_back(
    repository: Repository, version: str, paths: Collection[str] = (), *, force: bool = False
) -> BroughtBack:
    """Write what a version holds at or below these paths (everything without any), where it differs now.

    Raises WorkbenchError, and writes nothing then, where something newer stands in a file's place and `force` is not
    given, or where the version holds nothing there.
    """
    metadata = repository.metadata_of(version)
    held = [change for change in repository.files_of(version) if _is_wanted(change.path, paths)]
    folders = [path for path in metadata.directories if _is_wanted(path, paths)]
    if paths and not (held or folders):
        raise WorkbenchError(f"this version holds nothing at {visible(', '.join(paths), lines=False)}")
    contents = repository.contents(list(dict.fromkeys(change.after for change in held)))
    differing = [change for change in held if not _is_there(repository, change, contents[change.after], metadata)]
    newer = [change.path for change in differing if _holds_other(repository, change, contents[change.after])]
    if newer and not force:
        names = ", ".join(visible(path, lines=False) for path in newer[:_NAMED])
        more = f" and {len(newer) - _NAMED} more" if len(newer) > _NAMED else ""
        raise WorkbenchError(f"these files hold something else now: {names}{more}; --force overwrites them")
    write(repository, differing, metadata)
    return BroughtBack(len(differing), make_directories(repository, folders, metadata))


def write(
    repository: Repository, changes: Sequence[Change], metadata: Metadata, before: Mapping[str, bytes] = _UNKNOWN
) -> None:
    """Carry changes out in the workspace: what has to go first, then what has to be there. Raises VersionsFail.

    A file that is named in `before` and holds anything else by now stays as it is.
    """
    contents = repository.contents(list(dict.fromkeys(change.after for change in changes if change.after)))
    root = repository.root
    for change in changes:
        if not change.after or change.mode_before not in (_NOTHING, change.mode_after):
            _guarded(repository, change.path, partial(_remove, root, change.path))
    for change in changes:
        if change.after:
            raw, known = contents[change.after], before.get(change.path)
            put = partial(_put, root, change, raw, _permissions(metadata, change), known)
            _guarded(repository, change.path, put)


def set_permissions(repository: Repository, path: str, mode: int) -> None:
    """Give a file these permissions; raises VersionsFail."""
    _change(repository, path, lambda entry: entry.chmod(mode))


def make_directories(repository: Repository, paths: Collection[str], metadata: Metadata) -> int:
    """Make the directories that are missing, with their permissions; how many."""
    made = 0
    for path in sorted(paths):
        is_missing = not (repository.workspace / path).is_dir()
        made += is_missing
        _change(repository, path, partial(_make_directory, permissions=metadata.directories[path]))
    return made


def _make_directory(entry: AnchoredEntry, permissions: int) -> None:
    with suppress(FileExistsError):
        entry.mkdir()
    entry.chmod(permissions)


def _permissions(metadata: Metadata, change: Change) -> int:
    return metadata.permissions(change.path, change.mode_after)


def _is_wanted(path: str, wanted: Collection[str]) -> bool:
    return not wanted or any(one in (".", path) or path.startswith(f"{one}/") for one in wanted)


def _is_there(repository: Repository, change: Change, raw: bytes, metadata: Metadata) -> bool:
    """Whether the file is there just as the version holds it, permissions included."""
    if _holds_other(repository, change, raw):
        return False
    try:
        mode = (repository.workspace / change.path).lstat().st_mode
    except OSError:
        return False
    return change.has_link or stat.S_IMODE(mode) == _permissions(metadata, change)


def _holds_other(repository: Repository, change: Change, raw: bytes) -> bool:
    """Whether something else stands in the file's place; false where nothing does."""
    path = repository.workspace / change.path
    try:
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            return not change.has_link or os.fsencode(path.readlink()) != raw
        return change.has_link or not stat.S_ISREG(mode) or path.read_bytes() != raw
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True


def _change(repository: Repository, path: str, work: Callable[[AnchoredEntry], None]) -> None:
    """Do something to what is at the path; raises VersionsFail."""

    def changed() -> None:
        with repository.root.entry(repository.root.path / path, make=True) as entry:
            work(entry)

    _guarded(repository, path, changed)


def _guarded(repository: Repository, path: str, work: Callable[[], None]) -> None:
    try:
        work()
    except OSError as error:
        name = visible(path or str(repository.workspace), lines=False)
        raise VersionsFail(f"{name} could not be put back: {error.strerror or error}") from error


def _remove(root: Root, path: str) -> None:
    """Delete the file, and the directories that are empty then; those on the way must be no links to elsewhere."""
    whole = root.path / path
    with suppress(FileNotFoundError), root.entry(whole) as entry:
        if not stat.S_ISDIR(entry.mode()):
            entry.unlink()
    for folder in whole.parents:
        if folder == root.path:
            return
        try:
            with root.entry(folder) as entry:
                entry.rmdir()
        except OSError:
            return


def _put(root: Root, change: Change, raw: bytes, permissions: int, before: bytes | None) -> None:
    whole = root.path / change.path
    with root.entry(whole, make=True) as entry:
        now = entry.mode()
        if change.mode_after == _LINK:
            entry.unlink()
            entry.symlink_to(os.fsdecode(raw))
            return
        if stat.S_ISDIR(now):
            entry.rmdir()
        elif now and not stat.S_ISREG(now):
            entry.unlink()
    if stat.S_ISREG(now):
        atomic.replace(whole, raw, root, before=before)
    else:
        atomic.write_new(whole, raw, root, mode=permissions)
    with root.entry(whole) as entry:
        if stat.S_IMODE(entry.stat().st_mode) != permissions:
            entry.chmod(permissions)
