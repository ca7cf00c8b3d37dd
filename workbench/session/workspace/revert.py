"""Changes that the person takes back: files written again as they were, if they still hold what was shown; used by
the session."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from workbench.errors import WorkbenchError
from workbench.files import atomic
from workbench.files.anchored import SYSTEM, Root, real_path
from workbench.files.text_file import Coding, EditorError, decoded, encoded, read_bytes
from workbench.protocol.events import FileDelta
from workbench.session.workspace.deltas import stands_for
from workbench.session.workspace.repository import Change, Repository, VersionsFail
from workbench.session.workspace.restore import write
from workbench.text import visible, well_formed


class NotTakenBack(WorkbenchError):
    """A change could not be taken back; `done` are the files that were written before that."""

    def __init__(self, reason: str, done: Sequence[FileDelta] = ()) -> None:
        super().__init__(reason)
        self.done = tuple(done)


def take_back(files: Sequence[FileDelta], root: Root, repository: Repository | None = None) -> None:
    """Give each file (`before` is what it must hold now) what `after` says; raises NotTakenBack. `root`: the workspace.

    Where a version of the `repository` holds just that, its bytes, permissions and link are written, else the text in
    the coding of the file that is there. All are checked before the first is written, and each is written whole or not
    at all.
    """
    found = [_checked(file, root, repository) for file in files]
    done: list[FileDelta] = []
    for file, was in zip(files, found, strict=True):
        try:
            _write(file, was)
        except (OSError, ValueError, EditorError, VersionsFail) as error:
            said = f"{_name(file)} could not be written: {_why(error)}"
            raise NotTakenBack(f"{said}; {len(done)} of {len(files)} files were", done) from error
        done.append(file)


def check_paths(files: Sequence[FileDelta]) -> None:
    """Raise NotTakenBack for a path that no file can have."""
    for file in files:
        try:
            is_possible = b"\0" not in os.fsencode(file.path)
        except UnicodeEncodeError:
            is_possible = False
        if not is_possible:
            raise NotTakenBack(f"{_name(file)} cannot be the name of a file; nothing was written")


@dataclass(frozen=True)
class _Stored:
    """A file as a version holds it; written again by `put`."""

    path: Path
    put: Callable[[Mapping[str, bytes]], None]
    name: str


@dataclass(frozen=True)
class _Found:
    """A file as it was found: its real path, below which directory it is opened, its bytes and how they are coded."""

    path: Path
    root: Root
    raw: bytes | None = None
    coding: Coding = field(default_factory=Coding)
    stored: _Stored | None = None


def _checked(file: FileDelta, root: Root, repository: Repository | None) -> _Found:
    """The file as it is; raises NotTakenBack where it does not hold what was shown."""
    if not Path(file.path).is_absolute():
        raise NotTakenBack(f"{_name(file)} is no absolute path")
    try:
        stored = _stored(file, repository)
        if file.cut:
            return _checked_bytes(file, root, stored)
        found, now = _read(stored.path if stored else Path(file.path), root)
    except (OSError, ValueError, EditorError, VersionsFail) as error:
        raise NotTakenBack(f"{_name(file)} could not be read: {_why(error)}") from error
    if now != file.before:
        raise _changed(file)
    return replace(found, stored=stored)


def _checked_bytes(file: FileDelta, root: Root, stored: _Stored | None) -> _Found:
    """The same for a file without a text: what it holds is known by its hash alone."""
    if file.after is not None and stored is None:
        raise NotTakenBack(f"{_name(file)} has no text that could be written ({file.cut}), and no version holds it")
    path = stored.path if stored else Path(file.path)
    if not root.holds(path):
        raise NotTakenBack(f"{_name(file)} is not in the workspace")
    raw = _bytes_at(path, root)
    is_as_shown = file.before is None if raw is None else stands_for(file.before, _blob_of(raw))
    if not is_as_shown:
        raise _changed(file)
    return _Found(path, root, raw, stored=stored)


def _changed(file: FileDelta) -> NotTakenBack:
    return NotTakenBack(f"{_name(file)} has changed since it was shown; look at it again. Nothing was written")


def _bytes_at(path: Path, root: Root) -> bytes | None:
    """What the file holds, or where the link leads; None where nothing is."""
    try:
        with root.entry(path) as entry:
            is_link = stat.S_ISLNK(entry.stat().st_mode)
            return os.fsencode(path.readlink()) if is_link else entry.read()
    except FileNotFoundError:
        return None


def _blob_of(raw: bytes) -> str:
    """The id that git gives a blob with this content."""
    return hashlib.sha1(b"blob %d\0" % len(raw) + raw, usedforsecurity=False).hexdigest()


def _stored(file: FileDelta, repository: Repository | None) -> _Stored | None:
    """What the version holds of the file, where it is what is wanted; raises VersionsFail, ValueError."""
    path = Path(file.path)
    if repository is None or not file.version or file.after is None:
        return None
    root = repository.root.path
    if not path.is_relative_to(root):
        return None
    version = repository.version_named(file.version)
    change = _file_in(repository, version, str(path.relative_to(root)))
    if change is None:
        return None
    if file.cut:
        is_wanted = stands_for(file.after, change.after)
    else:
        raw = repository.contents([change.after])[change.after]
        is_wanted = not change.has_link and decoded(path, raw)[1] == file.after
    metadata = repository.metadata_of(version)
    return (
        _Stored(root / change.path, partial(write, repository, [change], metadata), change.path) if is_wanted else None
    )


def _file_in(repository: Repository, version: str, path: str) -> Change | None:
    """A file of a version by its path as events tell it; None where there is none.

    Events replace bytes of a name that are no UTF-8, so such a name may fit only by what it looks like.
    """
    files = repository.files_of(version)
    found = [file for file in files if file.path == path] or [file for file in files if well_formed(file.path) == path]
    return found[0] if len(found) == 1 else None


def _read(path: Path, workspace: Root) -> tuple[_Found, str | None]:
    """The file and its text; a path of the workspace must lead to a file of the workspace."""
    real = Path(real_path(path))
    if real != path and path.is_relative_to(workspace.path) and not workspace.holds(real):
        raise EditorError("it leads out of the workspace now")
    root = workspace if workspace.holds(real) else SYSTEM
    try:
        raw = read_bytes(real, root)
    except FileNotFoundError:
        return _Found(real, root), None
    coding, text = decoded(real, raw)
    return _Found(real, root, raw, coding), text


def _write(file: FileDelta, was: _Found) -> None:
    if was.stored is not None:
        was.stored.put({} if was.raw is None else {was.stored.name: was.raw})
    elif file.after is None:
        if was.raw is not None:
            atomic.remove(was.path, was.root, before=None if file.cut else was.raw)
    elif file.before is None:
        atomic.write_new(was.path, encoded(was.path, file.after), was.root)
    else:
        atomic.replace(was.path, encoded(was.path, file.after, was.coding), was.root, before=was.raw)


def _name(file: FileDelta) -> str:
    return visible(file.path, lines=False)


def _why(error: OSError | ValueError | EditorError | VersionsFail) -> str:
    return (error.strerror if isinstance(error, OSError) else "") or str(error)
