"""Reverts changes of files, as the user requests in the diff viewer.

A file gets its earlier content only if it still has the content that was shown, and no link is followed out of the
workspace.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import msgspec

from workbench.errors import WorkbenchError
from workbench.files import atomic
from workbench.files.encodings import Coding, reading_as
from workbench.files.replaced_paths import directories_in, is_vacated
from workbench.files.root_directory import SYSTEM, Root, real_path
from workbench.files.text_file import EditorError, decoded, encoded, read_bytes, reading_of
from workbench.protocol.events import FileDelta
from workbench.protocol.placeholders import is_placeholder_of
from workbench.session.workspace.metadata import Metadata
from workbench.session.workspace.repository import Change, SnapshotError, SnapshotRepository
from workbench.session.workspace.restore import blob_id, bytes_at, write
from workbench.text import visible_path, well_formed


class RevertError(WorkbenchError):
    """A change could not be reverted; `done` are the files that were written before the failure."""

    def __init__(self, reason: str, done: Sequence[FileDelta] = ()) -> None:
        super().__init__(reason)
        self.done = tuple(done)


def revert(files: Sequence[FileDelta], root: Root, repository: SnapshotRepository | None = None) -> None:
    """Write `after` to each file that still has the content `before`. `root` is the workspace. Raises RevertError.

    If the version that a file names has this new content in `repository`, the file gets that version's bytes,
    permissions and link; otherwise it gets the text, in the encoding of the current file. All files are checked before
    the first is written; each is written completely or not at all. Files are removed first, so that a file can take the
    place of a directory whose files are all removed, and a directory that of a file.
    """
    versions = _Versions(repository) if repository is not None else None
    removed = frozenset(file.path for file in files if file.after is None)
    states = [_checked(file, root, versions, removed) for file in files]
    done: list[FileDelta] = []
    for file, was in sorted(zip(files, states, strict=True), key=lambda pair: pair[0].after is not None):
        try:
            _write(file, was)
        except (OSError, ValueError, EditorError, SnapshotError) as error:
            message = f"{_name(file)} could not be written: {_why(error)}"
            raise RevertError(f"{message}; {len(done)} of {len(files)} files were", done) from error
        done.append(file)


def check_paths(files: Sequence[FileDelta]) -> None:
    """Raise RevertError if a path cannot be the path of a file."""
    for file in files:
        try:
            is_possible = b"\0" not in os.fsencode(file.path)
        except UnicodeEncodeError:
            is_possible = False
        if not is_possible:
            raise RevertError(f"{_name(file)} cannot be the name of a file; nothing was written")


class _Stored(msgspec.Struct, frozen=True):
    """A file in a version; `put` writes it to the workspace, given what is there now (see `restore.write`)."""

    path: Path
    put: Callable[[Mapping[str, bytes | None]], None]
    name: str


@dataclass(frozen=True)
class _CheckedFile:
    """A file as it was read: its real path, the directory in which it is opened, its bytes and their encoding."""

    path: Path
    root: Root
    raw: bytes | None = None
    coding: Coding = field(default_factory=Coding)
    stored: _Stored | None = None
    is_vacated: bool = False
    """Whether nothing is there once the other files are removed, though something is now."""


def _checked(file: FileDelta, root: Root, versions: _Versions | None, removed: frozenset[str]) -> _CheckedFile:
    """Return the current file. Raises RevertError if its content is not what was shown."""
    if not Path(file.path).is_absolute():
        raise RevertError(f"{_name(file)} is not an absolute path")
    try:
        stored = _stored(file, versions)
        if _becomes_free(file, root, removed):
            return _new_at_vacated(file, root, stored)
        if file.cut:
            return _checked_bytes(file, root, stored)
        states, now = _read(stored.path if stored else Path(file.path), root, file.before)
    except (OSError, ValueError, EditorError, SnapshotError) as error:
        raise RevertError(f"{_name(file)} could not be read: {_why(error)}") from error
    if now != file.before:
        raise _changed(file)
    if stored is not None and stored.path.is_symlink():
        return replace(states, raw=bytes_at(stored.path, root), stored=stored)
    return replace(states, stored=stored)


def _becomes_free(file: FileDelta, root: Root, removed: frozenset[str]) -> bool:
    """Return whether a new file is to be where other files, which are removed, are now in the way."""
    path = Path(file.path)
    return file.before is None and path.is_relative_to(root.path) and is_vacated(path, removed)


def _new_at_vacated(file: FileDelta, root: Root, stored: _Stored | None) -> _CheckedFile:
    """Return the state of such a file. Raises RevertError if there is no content that could be written."""
    if file.cut and stored is None:
        raise _no_content(file)
    # A link that is removed first is not followed: the path counts as it is written.
    return _CheckedFile(Path(file.path), root, stored=stored, is_vacated=True)


def _checked_bytes(file: FileDelta, root: Root, stored: _Stored | None) -> _CheckedFile:
    """Return a file whose text may not have been recorded, after comparing its content with the change.

    Raises RevertError if it has changed, or if no version contains the new content.
    """
    if file.after is not None and stored is None:
        raise _no_content(file)
    path = stored.path if stored else Path(file.path)
    if not root.holds(path):
        raise RevertError(f"{_name(file)} is not in the workspace")
    raw = bytes_at(path, root)
    if not (file.before is None if raw is None else _is_content(file.before, raw, blob_id(raw))):
        raise _changed(file)
    return _CheckedFile(path, root, raw, stored=stored)


def _no_content(file: FileDelta) -> RevertError:
    return RevertError(f"{_name(file)} has no text that could be written ({file.cut}), and no version contains it")


def _changed(file: FileDelta) -> RevertError:
    return RevertError(f"{_name(file)} has changed since it was shown; look at it again. Nothing was written")


def _is_content(content: str | None, raw: bytes, blob: str) -> bool:
    """Return whether the content in a delta, its text or its placeholder, matches these bytes."""
    return is_placeholder_of(content, blob) or (content is not None and reading_as(raw, content) is not None)


class _Versions:
    """The files of the versions that a revert needs; each version is listed only once."""

    def __init__(self, repository: SnapshotRepository) -> None:
        self.repository = repository
        self._listed: dict[str, tuple[dict[str, list[Change]], Metadata]] = {}

    def file(self, name: str, path: str) -> tuple[Change, Metadata] | None:
        """Return the version's file at a path as events write it, and the version's metadata; None if there is none.

        Events replace the bytes of a name that are not UTF-8, so such a name may match only in its replaced form.
        """
        if name not in self._listed:
            version = self.repository.version_named(name)
            files: dict[str, list[Change]] = {}
            for change in self.repository.files_of(version):
                files.setdefault(well_formed(change.path), []).append(change)
            self._listed[name] = files, self.repository.metadata_of(version)
        files, metadata = self._listed[name]
        candidates = files.get(well_formed(path), [])
        exact = [change for change in candidates if change.path == path] or candidates
        return (exact[0], metadata) if len(exact) == 1 else None


def _stored(file: FileDelta, versions: _Versions | None) -> _Stored | None:
    """Return the file in the version that it names if that matches `after`, else None.

    Raises SnapshotError or ValueError.
    """
    path = Path(file.path)
    if versions is None or not file.version or file.after is None:
        return None
    repository = versions.repository
    root = repository.root.path
    if not path.is_relative_to(root):
        return None
    entry = versions.file(file.version, str(path.relative_to(root)))
    if entry is None:
        return None
    change, metadata = entry
    matches = bool(file.cut) and is_placeholder_of(file.after, change.after)
    if not matches and not change.has_link:
        matches = _is_content(file.after, repository.contents([change.after])[change.after], change.after)
    return _Stored(root / change.path, partial(write, repository, [change], metadata), change.path) if matches else None


def _read(path: Path, workspace: Root, expected: str | None) -> tuple[_CheckedFile, str | None]:
    """Return the file and its text, decoded such that it equals `expected` if any encoding does that.

    Raises EditorError if a path in the workspace now leads out of it.
    """
    real = Path(real_path(path))
    if real != path and path.is_relative_to(workspace.path) and not workspace.holds(real):
        raise EditorError("it leads out of the workspace now")
    root = workspace if workspace.holds(real) else SYSTEM
    try:
        raw = read_bytes(real, root)
    except FileNotFoundError:
        return _CheckedFile(real, root), None
    coding, text = reading_of(real, raw, expected) if expected is not None else decoded(real, raw)
    return _CheckedFile(real, root, raw, coding), text


def _write(file: FileDelta, was: _CheckedFile) -> None:
    if was.is_vacated:
        for directory in directories_in(was.path):  # none is removed that contains anything by now
            with was.root.entry(directory) as entry:
                entry.rmdir()
    if was.stored is not None:
        was.stored.put({was.stored.name: was.raw})
    elif file.after is None:
        if was.raw is not None:
            atomic.remove(was.path, was.root, before=was.raw)
    elif file.before is None:
        atomic.write_new(was.path, encoded(was.path, file.after), was.root)
    else:
        atomic.replace(was.path, encoded(was.path, file.after, was.coding), was.root, before=was.raw)


def _name(file: FileDelta) -> str:
    return visible_path(file.path)


def _why(error: OSError | ValueError | EditorError | SnapshotError) -> str:
    return (error.strerror if isinstance(error, OSError) else "") or str(error)
