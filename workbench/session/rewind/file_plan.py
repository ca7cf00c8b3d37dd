"""Plans which files of the workspace a rewind changes, so that changes by the user are kept, and writes them."""

from __future__ import annotations

import stat
from collections.abc import Collection, Mapping, Sequence
from typing import Final

import msgspec

from workbench.files.merge import merge
from workbench.protocol.events import FileDelta, Rewound
from workbench.protocol.rewind import RewoundFile
from workbench.session.storage.file_steps import Transition
from workbench.session.workspace.metadata import Metadata
from workbench.session.workspace.repository import LINK, Change, SnapshotError, SnapshotRepository, is_refused
from workbench.session.workspace.restore import blob_id, bytes_at, set_directories, set_permissions, write
from workbench.session.workspace.snapshots import deltas
from workbench.text import well_formed

_NO_MODE: Final = "000000"


class Entry(msgspec.Struct, frozen=True):
    """A file or link by the id of its git blob and its mode as in `stat`; neither if there is none."""

    blob: str = ""
    mode: int = 0

    @property
    def git_mode(self) -> str:
        """The mode as in a git tree."""
        if not self.blob:
            return _NO_MODE
        if stat.S_ISLNK(self.mode):
            return LINK
        return "100755" if self.mode & 0o100 else "100644"

    def holds_same(self, other: Entry) -> bool:
        """Return whether both have the same content and kind, whatever their permissions."""
        return self.blob == other.blob and stat.S_IFMT(self.mode) == stat.S_IFMT(other.mode)


_NOTHING: Final = Entry()


class FilePlan(msgspec.Struct, frozen=True):
    """The changes to make; `covered` are the paths, relative to the workspace, that some snapshot in between changed.

    `conflicts` are paths left as they are, because both the user and the agent changed the same lines.
    """

    files: tuple[RewoundFile, ...] = ()
    directories: Mapping[str, int | None] = msgspec.field(default_factory=dict)
    conflicts: tuple[str, ...] = ()
    covered: frozenset[str] = frozenset()


def plan_files(
    repository: SnapshotRepository, changes: Sequence[Transition], overwrites: Collection[str] = ()
) -> FilePlan:
    """Return what the changes would do to the workspace as it is now. Raises SnapshotError.

    A file that is not as a change expects it was changed by the user: both changes are merged, or the file is a
    conflict; a conflict among the `overwrites` ends as the changes say. Merged contents are stored in the repository,
    nothing else is written.
    """
    workspace = _Workspace(repository, frozenset(overwrites))
    directories: dict[str, int | None] = {}
    covered: set[str] = set()
    for change in changes:
        differences = _Differences(repository, change)
        for path, (start, end) in differences.files.items():
            covered.add(path)
            workspace.apply(path, start, end)
        directories |= differences.directories
    return FilePlan(workspace.changed(), directories, tuple(sorted(workspace.conflicts)), frozenset(covered))


class _Differences:
    """The files and directories in which two snapshots differ, including permissions."""

    def __init__(self, repository: SnapshotRepository, change: Transition) -> None:
        start, end = repository.metadata_of(change.start), repository.metadata_of(change.end)
        self.files = {
            each.path: (
                _entry(each.before, each.mode_before, start, each.path),
                _entry(each.after, each.mode_after, end, each.path),
            )
            for each in repository.difference(change.start, change.end)
        }
        for path in _differing(start.modes, end.modes) - self.files.keys():
            self.files[path] = _permissions_alone(path, start, end)
        self.directories: dict[str, int | None] = {
            path: end.directories.get(path) for path in _differing(start.directories, end.directories)
        }


def _differing(one: Mapping[str, int], other: Mapping[str, int]) -> set[str]:
    return {path for path in (*one, *other) if one.get(path) != other.get(path)}


def _entry(blob: str, git_mode: str, metadata: Metadata, path: str) -> Entry:
    if not blob:
        return _NOTHING
    if git_mode == LINK:
        return Entry(blob, stat.S_IFLNK | 0o777)
    return Entry(blob, stat.S_IFREG | metadata.permissions(path, git_mode))


_ANY_CONTENT: Final = "*"
"""The blob of both entries if only the permissions of a file differ."""


def _permissions_alone(path: str, start: Metadata, end: Metadata) -> tuple[Entry, Entry]:
    mode = start.modes.get(path, end.modes.get(path, 0))
    git_mode = "100755" if mode & 0o100 else "100644"
    before, after = start.permissions(path, git_mode), end.permissions(path, git_mode)
    return Entry(_ANY_CONTENT, stat.S_IFREG | before), Entry(_ANY_CONTENT, stat.S_IFREG | after)


class _Workspace:
    """The files of the workspace as they are, and as they will be after the changes applied so far."""

    def __init__(self, repository: SnapshotRepository, overwrites: frozenset[str]) -> None:
        self._repository = repository
        self._overwrites = overwrites
        self._now: dict[str, Entry | None] = {}
        self._planned: dict[str, Entry] = {}
        self._raw: dict[str, bytes] = {}
        self._merged: set[str] = set()
        self.conflicts: set[str] = set()

    def apply(self, path: str, start: Entry, end: Entry) -> None:
        """Change the planned state of a file as from `start` to `end`, or note a conflict."""
        if path in self.conflicts:
            return
        if path not in self._now:
            self._now[path] = self._read(path)
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
            )
            for path, now, then in pairs
            if now != then
        )

    def _read(self, path: str) -> Entry | None:
        """Return the current entry; None if something other than a file or a link is there."""
        whole = self._repository.root.path / path
        try:
            raw = _bytes_at(self._repository, path)
            if raw is None:
                return _NOTHING
            mode = whole.lstat().st_mode
        except OSError:
            return None
        blob = blob_id(raw)
        self._raw[blob] = raw
        return Entry(blob, mode)

    def _changed(self, path: str, current: Entry, start: Entry, end: Entry) -> Entry | None:
        if start.blob == end.blob == _ANY_CONTENT:
            return self._with_permissions(current, current, start, end)
        if current.holds_same(end) or current.holds_same(start):
            return self._with_permissions(end, current, start, end)
        return self._combined(path, current, start, end) or (end if path in self._overwrites else None)

    def _combined(self, path: str, current: Entry, start: Entry, end: Entry) -> Entry | None:
        """Return the entry with the user's change and this one, or None if they conflict."""
        if not (current.blob and start.blob and end.blob):
            return None
        blob = self._merge(path, current.blob, start.blob, end.blob)
        return self._with_permissions(Entry(blob, current.mode), current, start, end) if blob else None

    @staticmethod
    def _with_permissions(content: Entry, current: Entry, start: Entry, end: Entry) -> Entry:
        """Return the entry, with the user's permissions if they differ from those that the change starts from."""
        if not content.blob or not stat.S_ISREG(content.mode) or not current.blob:
            return content
        is_users = stat.S_ISREG(start.mode) and stat.S_IMODE(current.mode) != stat.S_IMODE(start.mode)
        return Entry(content.blob, current.mode if is_users else end.mode)

    def _merge(self, path: str, current: str, start: str, end: str) -> str:
        """Return the blob with the user's and the agent's changes, or `""` if they conflict or are not text."""
        try:
            contents = [self._bytes(blob).decode() for blob in (start, current, end)]
        except UnicodeDecodeError:
            return ""
        merged = merge(*contents)
        if merged.conflicts != 0:
            return ""
        raw = merged.text.encode()
        blob = self._repository.git(["hash-object", "-w", "--stdin"], raw).decode().strip()
        self._raw[blob] = raw
        self._merged.add(path)
        return blob

    def _bytes(self, blob: str) -> bytes:
        if blob not in self._raw:
            self._raw |= self._repository.contents([blob])
        return self._raw[blob]


def deltas_of(repository: SnapshotRepository, rewound: Rewound) -> tuple[FileDelta, ...]:
    """Return the texts of the files that a rewind would change, before and after. Raises SnapshotError.

    The contents now on disk are not in the repository yet.
    """
    contents = (_content(repository, file.path) for file in rewound.files)
    on_disk = {blob: raw for raw, blob in contents if raw is not None}
    return deltas(repository, [_as_change(file) for file in rewound.files], {}, on_disk).files


class WriteResult(msgspec.Struct, frozen=True):
    """What `write_files` did not write: files that have changed since, and failures, one line each."""

    changed: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()


def write_files(repository: SnapshotRepository, rewound: Rewound) -> WriteResult:
    """Write the files of a rewind; those that cannot be written do not keep the others from it. Raises SnapshotError.

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
    set_directories(repository, {path: mode for path, mode in rewound.directories.items() if _is_inside(path)})
    changed = (file.path for file in files if _content(repository, file.path)[1] not in (file.before, file.after))
    return WriteResult(tuple(changed), tuple(dict.fromkeys(failures)))


def _is_inside(path: str, mode: int = 0) -> bool:
    """Return whether a path that a log names is a normalized one below the workspace that a version can contain."""
    return "\0" not in path and not {"", ".", ".."}.intersection(path.split("/")) and not is_refused(path, mode)


def _write(repository: SnapshotRepository, files: Sequence[RewoundFile]) -> None:
    """Write those of the files that have the content from before the rewind, and the permissions of all others."""
    changes: list[Change] = []
    before: dict[str, bytes | None] = {}
    done: list[RewoundFile] = []
    for file in files:
        raw, blob = _content(repository, file.path)
        if blob == file.before != file.after:
            before[file.path] = raw
            changes.append(_as_change(file))
        elif blob == file.after:
            done.append(file)
    metadata = Metadata(modes={file.path: stat.S_IMODE(file.mode_after) & 0o777 for file in files})
    write(repository, changes, metadata, before)
    for file in done:
        if stat.S_ISREG(file.mode_after):
            set_permissions(repository, file.path, metadata.modes[file.path])


def _bytes_at(repository: SnapshotRepository, path: str) -> bytes | None:
    """Return the content of a file or link; None for nothing and for an empty directory, which a file may replace."""
    whole = repository.root.path / path
    try:
        return bytes_at(whole, repository.root)
    except IsADirectoryError:
        if any(whole.iterdir()):
            raise
        return None


def _content(repository: SnapshotRepository, path: str) -> tuple[bytes | None, str]:
    try:
        raw = _bytes_at(repository, path)
    except OSError:
        return None, "?"
    return raw, "" if raw is None else blob_id(raw)


def _as_change(file: RewoundFile) -> Change:
    before, after = Entry(file.before, file.mode_before), Entry(file.after, file.mode_after)
    return Change(file.path, before.git_mode, after.git_mode, file.before, file.after)
