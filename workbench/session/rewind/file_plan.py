"""Plans which files of the workspace a rewind changes, keeping the user's own changes, and writes them."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from workbench.diff.merge import merge
from workbench.processes.leftovers import prefix
from workbench.protocol.events import FileDelta, Rewound
from workbench.protocol.rewind import RewoundFile
from workbench.session.storage.file_steps import Transition
from workbench.session.workspace.metadata import Metadata
from workbench.session.workspace.repository import (
    LARGEST,
    LINK,
    Change,
    GitRefused,
    SnapshotError,
    SnapshotRepository,
    directories_in,
    is_refused,
)
from workbench.session.workspace.restore import blob_id, bytes_at, set_directories, set_permissions, write
from workbench.session.workspace.snapshots import deltas
from workbench.text import well_formed

_NO_MODE: Final = "000000"
_PRUNED: Final = "a snapshot from then is gone, since they stay for 30 days, so only the conversation can be moved"


class Entry(msgspec.Struct, frozen=True):
    """A file or link: the id of its git blob, and its mode as in `stat`; both are empty if there is no file."""

    blob: str = ""
    mode: int = 0

    @property
    def git_mode(self) -> str:
        """The mode as in a git tree, `000000` if there is no file."""
        if not self.blob:
            return _NO_MODE
        if stat.S_ISLNK(self.mode):
            return LINK
        return "100755" if self.mode & 0o100 else "100644"

    def holds_same(self, other: Entry) -> bool:
        """Return whether both have the same content and are of the same kind; permissions are ignored."""
        return self.blob == other.blob and stat.S_IFMT(self.mode) == stat.S_IFMT(other.mode)


_NOTHING: Final = Entry()


class FilePlan(msgspec.Struct, frozen=True):
    """The changes to make.

    `covered` are the paths, relative to the workspace, that differ between snapshots on the way. `conflicts` are paths
    left as they are, because the user has changed the same lines as the agent.
    """

    files: tuple[RewoundFile, ...] = ()
    directories: Mapping[str, int | None] = msgspec.field(default_factory=dict)
    conflicts: tuple[str, ...] = ()
    covered: frozenset[str] = frozenset()
    contents: Mapping[str, bytes] = msgspec.field(default_factory=dict)
    """By blob id, contents that were read from the workspace or merged; the repository may not have them."""


def plan_files(
    repository: SnapshotRepository,
    changes: Sequence[Transition],
    overwrites: Collection[str] = (),
    overwritten: Sequence[RewoundFile] = (),
) -> FilePlan:
    """Return what the changes would do to the workspace as it is now. Raises SnapshotError.

    If a file differs from the start of a change, the user has changed it: the two changes are merged, or the file is a
    conflict. A conflict named in `overwrites` gets the content at the end of the changes instead. Files that an earlier
    rewind has `overwritten` get the content from before that rewind. Nothing is written.
    """
    workspace = _Workspace(repository, frozenset(overwrites))
    directories: dict[str, int | None] = {}
    restored = {file.path for file in overwritten}
    covered = set(restored)
    workspace.apply_all({file.path: (_after(file), _before(file)) for file in overwritten})
    for change in changes:
        differences = _Differences(repository, change)
        covered.update(differences.files)
        workspace.apply_all({path: pair for path, pair in differences.files.items() if path not in restored})
        directories |= differences.directories
    conflicts = tuple(sorted(workspace.conflicts))
    return FilePlan(workspace.changed(), directories, conflicts, frozenset(covered), workspace.contents)


class _Differences:
    """The files and directories in which the two snapshots of a change differ, including permissions."""

    def __init__(self, repository: SnapshotRepository, change: Transition) -> None:
        try:
            start, end = repository.metadata_of(change.start), repository.metadata_of(change.end)
            differing = repository.difference(change.start, change.end)
        except GitRefused as error:
            raise SnapshotError(_PRUNED) from error
        self.files = {
            each.path: (
                _entry(each.before, each.mode_before, start, each.path),
                _entry(each.after, each.mode_after, end, each.path),
            )
            for each in differing
        }
        for path in _differing(start.modes, end.modes) - self.files.keys():
            self.files[path] = _permissions_alone(path, start, end)
        names = _differing(start.directories, end.directories)
        if start.directory != end.directory:
            names.update(directories_in(repository, change.start), directories_in(repository, change.end))
        usual = dict.fromkeys(directories_in(repository, change.end, names - end.directories.keys()), end.directory)
        self.directories: dict[str, int | None] = {path: usual.get(path, end.directories.get(path)) for path in names}


def _differing(one: Mapping[str, int], other: Mapping[str, int]) -> set[str]:
    return {path for path in (*one, *other) if one.get(path) != other.get(path)}


def _entry(blob: str, git_mode: str, metadata: Metadata, path: str) -> Entry:
    if not blob:
        return _NOTHING
    if git_mode == LINK:
        return Entry(blob, stat.S_IFLNK | 0o777)
    return Entry(blob, stat.S_IFREG | metadata.permissions(path, git_mode))


_ANY_CONTENT: Final = "*"
"""The blob id of both entries of a change that concerns only the permissions of a file."""


def _permissions_alone(path: str, start: Metadata, end: Metadata) -> tuple[Entry, Entry]:
    mode = start.modes.get(path, end.modes.get(path, 0))
    git_mode = "100755" if mode & 0o100 else "100644"
    before, after = start.permissions(path, git_mode), end.permissions(path, git_mode)
    return Entry(_ANY_CONTENT, stat.S_IFREG | before), Entry(_ANY_CONTENT, stat.S_IFREG | after)


class _Workspace:
    """The files of the workspace as they are, and as they are planned after the changes applied so far."""

    def __init__(self, repository: SnapshotRepository, overwrites: frozenset[str]) -> None:
        self._repository = repository
        self._overwrites = overwrites
        self._now: dict[str, Entry | None] = {}
        self._planned: dict[str, Entry] = {}
        self._merged: set[str] = set()
        self._overwritten: set[str] = set()
        self.conflicts: set[str] = set()
        self.contents: dict[str, bytes] = {}
        """By blob id, contents that were read or merged."""

    def apply_all(self, changes: Mapping[str, tuple[Entry, Entry]]) -> None:
        """Apply changes to the planned state of files, or note a conflict; a change leads from one entry to another."""
        for path in changes:
            if path not in self._now:
                self._now[path] = self._read(path)
        needed = {blob for path, pair in changes.items() for blob in self._blobs_to_merge(path, *pair)}
        self.contents |= self._repository.contents(sorted(needed - self.contents.keys()))
        for path, (start, end) in changes.items():
            if path not in self.conflicts:
                self._apply(path, start, end)

    def _blobs_to_merge(self, path: str, start: Entry, end: Entry) -> tuple[str, ...]:
        """Return the blobs whose contents are needed to merge a change into a file; empty if no merge is needed."""
        current = self._planned.get(path, self._now[path])
        if current is None or current.holds_same(start) or current.holds_same(end) or start.blob == _ANY_CONTENT:
            return ()
        blobs = (start.blob, current.blob, end.blob)
        return blobs if all(blobs) else ()

    def _apply(self, path: str, start: Entry, end: Entry) -> None:
        current = self._planned.get(path, self._now[path])
        result = None if current is None or path != well_formed(path) else self._changed(path, current, start, end)
        if result is None:
            self.conflicts.add(path)
            self._planned.pop(path, None)
        else:
            self._planned[path] = result

    def changed(self) -> tuple[RewoundFile, ...]:
        """Return the files whose planned state differs from the current one."""
        pairs = ((path, self._now[path] or _NOTHING, then) for path, then in sorted(self._planned.items()))
        return tuple(
            RewoundFile(
                path=path,
                before=now.blob,
                after=then.blob,
                mode_before=now.mode,
                mode_after=then.mode,
                is_merged=path in self._merged,
                is_overwritten=path in self._overwritten,
            )
            for path, now, then in pairs
            if now != then
        )

    def _read(self, path: str) -> Entry | None:
        """Return the current entry of a path; None if it is something that no snapshot contains, such as a large
        file.
        """
        try:
            raw, entry = _read(self._repository, path)
        except OSError:
            return None
        if raw is not None:
            self.contents[entry.blob] = raw
        return entry

    def _changed(self, path: str, current: Entry, start: Entry, end: Entry) -> Entry | None:
        if start.blob == end.blob == _ANY_CONTENT:
            return self._with_permissions(current, current, start, end)
        if current.holds_same(end) or current.holds_same(start):
            return self._with_permissions(end, current, start, end)
        combined = self._combined(path, current, start, end)
        if combined is None and path in self._overwrites:
            self._overwritten.add(path)
            return end
        return combined

    def _combined(self, path: str, current: Entry, start: Entry, end: Entry) -> Entry | None:
        """Return the entry with both the user's change and that from `start` to `end`; None if they conflict."""
        if not (current.blob and start.blob and end.blob):
            return None
        blob = self._merge(path, current.blob, start.blob, end.blob)
        return self._with_permissions(Entry(blob, current.mode), current, start, end) if blob else None

    @staticmethod
    def _with_permissions(content: Entry, current: Entry, start: Entry, end: Entry) -> Entry:
        """Return `content` with the permissions of `current` if the user has changed them, and otherwise those of
        `end`.
        """
        if not content.blob or not stat.S_ISREG(content.mode) or not current.blob:
            return content
        is_users = stat.S_ISREG(start.mode) and stat.S_IMODE(current.mode) != stat.S_IMODE(start.mode)
        return Entry(content.blob, current.mode if is_users else end.mode)

    def _merge(self, path: str, current: str, start: str, end: str) -> str:
        """Return the id of the blob with the user's and the agent's changes; "" if they conflict or are not text."""
        try:
            versions = [self.contents[blob].decode() for blob in (start, current, end)]
        except UnicodeDecodeError:
            return ""
        merged = merge(*versions)
        if merged.conflicts != 0:
            return ""
        self._merged.add(path)
        raw = merged.text.encode()
        blob = blob_id(raw)
        self.contents[blob] = raw
        return blob


def deltas_of(repository: SnapshotRepository, rewound: Rewound, contents: Mapping[str, bytes]) -> tuple[FileDelta, ...]:
    """Return the texts of the files that a rewind would change, before and after it. Raises SnapshotError.

    `contents` are those of the plan, which the repository may not have yet.
    """
    return deltas(repository, [_as_change(file) for file in rewound.files], {}, contents).files


def store_contents(repository: SnapshotRepository, plan: FilePlan) -> None:
    """Store the plan's merged contents in the repository, and those that will be overwritten. Raises SnapshotError."""
    blobs = {file.after for file in plan.files if file.is_merged}
    blobs |= {file.before for file in plan.files if file.is_overwritten}
    contents = [plan.contents[blob] for blob in sorted(blobs & plan.contents.keys())]
    if not contents:
        return
    try:
        with tempfile.TemporaryDirectory(prefix=prefix("rewind")) as directory:
            for number, raw in enumerate(contents):
                Path(directory, f"{number}").write_bytes(raw)
            paths = "".join(f"{directory}/{number}\n" for number in range(len(contents)))
            repository.git(["hash-object", "-w", "--no-filters", "--stdin-paths"], os.fsencode(paths))
    except OSError as error:
        raise SnapshotError(f"merged files cannot be stored: {error.strerror or error}") from error


class WriteResult(msgspec.Struct, frozen=True):
    """What `write_files` did not write: paths of files that have changed since the plan, and one line for each
    failure.
    """

    changed: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()


def write_files(repository: SnapshotRepository, rewound: Rewound) -> WriteResult:
    """Write the files of a rewind; if one cannot be written, the others still are. Raises SnapshotError.

    Files that are already written are skipped, so an interrupted rewind can be finished by calling this again.
    """
    failures: list[str] = []
    files = [file for file in rewound.files if _is_inside(file.path, file.mode_after)]
    for changes in (files, *([file] for file in files)):
        try:
            _write(repository, changes)
        except SnapshotError as error:
            failures += [str(error)] if len(changes) == 1 else []
        else:
            if changes is files:
                break
    directories = {path: mode for path, mode in rewound.directories.items() if _is_inside(path)}
    failures += set_directories(repository, directories)
    changed = (file.path for file in files if not _is_as_planned(file, _content(repository, file.path)[1]))
    return WriteResult(tuple(changed), tuple(dict.fromkeys(failures)))


def _is_inside(path: str, mode: int = 0) -> bool:
    """Return whether a path from a log is normalized, inside the workspace, and one that a snapshot can contain."""
    return "\0" not in path and not {"", ".", ".."}.intersection(path.split("/")) and not is_refused(path, mode)


def _write(repository: SnapshotRepository, files: Sequence[RewoundFile]) -> None:
    """Write the files that still have their content from before the rewind.

    Files that already have the new content only get their permissions; files that were changed meanwhile are left
    alone.
    """
    changes: list[Change] = []
    before: dict[str, bytes | None] = {}
    done: list[RewoundFile] = []
    for file in files:
        raw, now = _content(repository, file.path)
        if now.holds_same(_after(file)):
            done.append(file)
        elif now.holds_same(_before(file)):
            before[file.path] = raw
            changes.append(_as_change(file))
    metadata = Metadata(modes={file.path: stat.S_IMODE(file.mode_after) & 0o777 for file in files})
    write(repository, changes, metadata, before)
    for file in done:
        if stat.S_ISREG(file.mode_after):
            set_permissions(repository, file.path, metadata.modes[file.path])


def _read(repository: SnapshotRepository, path: str) -> tuple[bytes | None, Entry]:
    """Return the content and the entry of a file or link; neither for an empty directory, which a file may replace.

    Raises OSError for anything that no snapshot contains.
    """
    whole = repository.root.path / path
    if _size(whole) > LARGEST:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(whole))
    try:
        raw = bytes_at(whole, repository.root)
    except IsADirectoryError:
        if any(whole.iterdir()):
            raise
        raw = None
    return raw, _NOTHING if raw is None else Entry(blob_id(raw), whole.lstat().st_mode)


def _size(path: Path) -> int:
    with suppress(OSError):
        return path.lstat().st_size
    return 0


def _content(repository: SnapshotRepository, path: str) -> tuple[bytes | None, Entry]:
    try:
        return _read(repository, path)
    except OSError:
        return None, Entry("?")


def _before(file: RewoundFile) -> Entry:
    return Entry(file.before, file.mode_before)


def _after(file: RewoundFile) -> Entry:
    return Entry(file.after, file.mode_after)


def _is_as_planned(file: RewoundFile, now: Entry) -> bool:
    return now.holds_same(_before(file)) or now.holds_same(_after(file))


def _as_change(file: RewoundFile) -> Change:
    return Change(file.path, _before(file).git_mode, _after(file).git_mode, file.before, file.after)
