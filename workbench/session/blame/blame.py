"""Finds who wrote each line of a file: reads its states from the logs, and follows its lines through them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from workbench.config.locations import Locations
from workbench.diff.hunks import split_lines
from workbench.errors import UsageError, WorkbenchError
from workbench.files.root_directory import Root
from workbench.files.text_file import EditorError, decoded
from workbench.lazy_pattern import lazy_pattern
from workbench.session.blame.history import (
    BlameLog,
    Content,
    Contents,
    Doubt,
    FileChangeRecord,
    Writer,
    changed_paths,
    changes_of,
    logs_above,
)
from workbench.session.blame.line_tracing import LineTracer
from workbench.session.workspace.repository import LARGEST, SnapshotError, SnapshotRepository
from workbench.text import counted, visible_path

_MOST_RENAMES: Final = 20
_MOST_SOURCES: Final = 20
"""The most deleted files that are considered as the origin of a file that was perhaps renamed outside any session."""
_SIMILAR: Final = 0.5
"""The smallest fraction of equal lines at which a new file is taken for a renamed one."""
_OLDER: Final = "the file versions of its first sessions were pruned"
_UNREADABLE: Final = "the session {} cannot be read; if it worked here, its lines count as yours"
_IGNORED: Final = "git ignores this file, so only the agent's edits of it are recorded"
_BEFORE_FIRST: Final = "before the first recorded change"
_RANGE: Final = lazy_pattern(r"(.+):(\d{1,9})(?:-(\d{1,9}))?")
_VERSION: Final = lazy_pattern(r"[0-9a-f]{40,64}")


class BlamedLine(Struct, frozen=True):
    """One line of a file, without its line end, and who wrote it."""

    number: int
    text: str
    writer: Writer


class Blame(Struct, frozen=True):
    """Who wrote the lines of a file.

    `path` is relative to the workspace, and so are `names`, its earlier paths, the latest first. `notes` are sentences
    about what could not be read.
    """

    workspace: str
    path: str
    lines: tuple[BlamedLine, ...]
    names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def writers(self) -> list[Writer]:
        """The writers of the lines, in the order of their first line."""
        return list(dict.fromkeys(line.writer for line in self.lines))


class _State(Struct, frozen=True):
    """A state of the file, and who made it from the state before."""

    content: Content
    writer: Writer


def blame_file(locations: Locations, workspace: Path, name: str) -> Blame:
    """Return who wrote each line of a file; `name` is relative to the workspace.

    Raises UsageError if the file has no lines to blame, or no session has worked there.
    """
    path = _resolved(workspace, name)
    text = _text_on_disk(workspace, path)
    logs, unreadable = logs_above(locations, path)
    if not logs:
        raise UsageError(f"no session has worked in {visible_path(str(workspace))} yet; `ohw sessions` lists all")
    blame = _Blamer(locations, workspace, path, logs).blame(text)
    return replace(blame, notes=(*blame.notes, *map(_UNREADABLE.format, unreadable)))


def line_range(argument: str, workspace: Path) -> tuple[str, tuple[int, int] | None]:
    """Split FILE, FILE:LINE or FILE:FROM-TO into the file and its first and last line; None for all lines.

    An existing file whose name looks like that is taken as the file.
    """
    match = _RANGE.fullmatch(argument)
    if match is None or os.path.lexists(workspace / argument):
        return argument, None
    return match[1], (int(match[2]), int(match[3] or match[2]))


def lines_between(blame: Blame, lines: tuple[int, int] | None) -> Blame:
    """Return the blame of the lines from first to last, counted from 1; None means all.

    Raises UsageError if the file does not have them.
    """
    if lines is None:
        return blame
    first, last = lines
    if not 1 <= first <= last <= len(blame.lines):
        asked = f"{first}-{last}" if first != last else f"{first}"
        count = counted(len(blame.lines), "line")
        raise UsageError(f"{visible_path(blame.path)} has {count}; there is no range {asked}")
    return replace(blame, lines=blame.lines[first - 1 : last])


def _resolved(workspace: Path, name: str) -> Path:
    if not name or "\0" in name:
        raise UsageError("name a file of the workspace")
    with suppress(RuntimeError):  # `~NAME` of no user is a file name
        name = str(Path(name).expanduser())
    path = Path(os.path.realpath(workspace / name))
    if path.is_dir():
        raise UsageError(f"{visible_path(name)} is a directory; name a file in it")
    if not path.is_relative_to(workspace):
        raise UsageError(
            f"{visible_path(name)} is outside {visible_path(str(workspace))}; name another directory with --workspace"
        )
    return path


def _text_on_disk(workspace: Path, path: Path) -> str:
    named = visible_path(str(path.relative_to(workspace)))
    try:
        with Root.at(workspace).entry(path) as entry:
            info = entry.stat()
            if not stat.S_ISREG(info.st_mode):
                raise UsageError(f"{named} is not a file")
            if info.st_size > LARGEST:
                raise UsageError(f"{named} is larger than {LARGEST // 1_000_000} MB; the file versions omit such files")
            with os.fdopen(entry.open(os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
                return decoded(path, file.read(LARGEST))[1]
    except EditorError:
        raise UsageError(f"{named} is not text, so it has no lines to blame") from None
    except FileNotFoundError:
        raise UsageError(f"there is no file {named} in {visible_path(str(workspace))}") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise UsageError(f"{named} cannot be read: {reason}") from None


class _Blamer:
    """Computes the blame of one file, once."""

    def __init__(self, locations: Locations, workspace: Path, path: Path, logs: Sequence[BlameLog]) -> None:
        self._locations = locations
        self._workspace = workspace
        self._path = path
        self._logs = logs
        self._repositories: dict[str, SnapshotRepository] = {}
        self._names: list[str] = []
        self._doubts: tuple[Doubt, ...] = ()
        self._entries: dict[tuple[str, str, str], Content] = {}
        self._last_blob = ("", "")
        """The hash of the blob that was read last, and its text."""

    def blame(self, text: str) -> Blame:
        with closing(Contents(self._blob)) as contents:
            records = self._records(text, contents)
            self._note_ignored(records)
            states = self._states(records, text, contents)
            states = _readable(states, contents)
            tracer = LineTracer(
                [state.content.key for state in states], lambda index: contents.text(states[index].content)
            )
            origins = tracer.origins()
        lines = (line.rstrip("\r\n") for line in split_lines(text))
        blamed = tuple(
            BlamedLine(number, line, states[origin].writer)
            for number, (line, origin) in enumerate(zip(lines, origins, strict=True), 1)
        )
        names = tuple(os.path.relpath(name, self._workspace) for name in self._names)
        return Blame(str(self._workspace), str(self._path.relative_to(self._workspace)), blamed, names, self._notes())

    def _notes(self) -> tuple[str, ...]:
        """Return the reasons why lines may not be traced, each once."""
        doubts = (*self._doubts, *(doubt for log in self._logs for doubt in log.doubts))
        return tuple(dict.fromkeys(doubt.reason for doubt in doubts))

    def _note_ignored(self, records: Sequence[FileChangeRecord]) -> None:
        """Note that only the agent's edits of an ignored file are recorded. Raises UsageError if there are none."""
        if not self._is_ignored():
            return
        if not records:
            named = visible_path(str(self._path.relative_to(self._workspace)))
            raise UsageError(f"{named} is ignored by git, so no file version has it and nothing is known of its lines")
        self._doubts = (Doubt(datetime.min.replace(tzinfo=UTC), datetime.now(UTC), _IGNORED),)

    def _is_ignored(self) -> bool:
        directory = self._logs[0].workspace
        command = ["ls-files", "--others", "--ignored", "--exclude-standard", "--"]
        with suppress(SnapshotError):  # there are no file versions
            return bool(self._repository(directory).git([*command, os.path.relpath(self._path, directory)]))
        return False

    def _records(self, text: str, contents: Contents) -> list[FileChangeRecord]:
        """Return the recorded changes of the file in order, including those under its earlier paths."""
        records: list[FileChangeRecord] = []
        path, until = str(self._path), datetime.now(UTC)
        for _ in range(_MOST_RENAMES):
            earlier = self._changes(path, until)
            created = next((each for each in reversed(earlier) if not each.before.key), None)
            source, content = _source_of(created, contents) if created is not None else ("", Content())
            if not source and (created is None or created.writer.kind == "outside") and not self._is_in_first(path):
                oldest = created.after if created else earlier[0].before if earlier else Content("disk", text)
                source, content = self._moved_from(path, oldest, until, contents)
            if not source:
                return [*earlier, *records]
            if created is not None:
                later = earlier[earlier.index(created) + 1 :]
                earlier = [replace(created, before=content, deleted=()), *later]
            records = [*earlier, *records]
            path, until = source, _at(records[0]) if records else until
            self._names.append(path)
        return records

    def _changes(self, path: str, until: datetime) -> list[FileChangeRecord]:
        """Return the changes of a path that the logs contain, up to a time, in order."""
        changes = (each for log in self._logs for each in changes_of(log, path) if _at(each) <= until)
        return _without_doubles(sorted(changes, key=lambda each: (_at(each), each.writer.seq)))

    def _moved_from(self, path: str, oldest: Content, until: datetime, contents: Contents) -> tuple[str, Content]:
        """Return the deleted file that was renamed to `path` outside any session, with its last content.

        The path is empty if no file is similar enough.
        """
        gone = {each for log in self._logs for each in changed_paths(log) if not os.path.lexists(each)} - {path}
        suffix = Path(path).suffix
        likely = sorted(gone, key=lambda each: (Path(each).name != Path(path).name, Path(each).suffix != suffix, each))
        last = {each: changes[-1].after for each in likely[:_MOST_SOURCES] if (changes := self._changes(each, until))}
        return most_similar(_text_or_none(contents, oldest) or "", last, contents)

    def _is_in_first(self, path: str) -> bool:
        """Return whether the oldest file version of the directory has the file; False if that cannot be read."""
        with suppress(SnapshotError, StopIteration):
            log, _, version = next(self._versions())
            return bool(self._in_version(log.workspace, version, os.path.relpath(path, log.workspace)).key)
        return False

    def _versions(self) -> Iterator[tuple[BlameLog, datetime, str]]:
        return ((log, *version) for log in self._logs for version in log.versions)

    def _states(self, records: Sequence[FileChangeRecord], text: str, contents: Contents) -> list[_State]:
        """Return the states of the file, from the oldest to the one on disk."""
        states = [self._base(records)]
        for record in records:
            if record.after.key == states[-1].content.key:
                continue  # another session, or the snapshot after the action, has the same change
            if record.before.key != states[-1].content.key:
                states.append(_State(record.before, self._unrecorded(states[-1].writer.at, _at(record))))
            states.append(_State(record.after, record.writer))
        last = states[-1]
        if not (last.content.key and _text_or_none(contents, last.content) == text):
            unrecorded = self._unrecorded(last.writer.at, self._changed_at(last.writer.at))
            states.append(_State(Content("disk", text), unrecorded))
        return states

    def _changed_at(self, after: datetime | None) -> datetime:
        """Return when the file was last written, but no earlier than `after`, its last recorded change."""
        at = datetime.now(UTC)
        with suppress(OSError, ValueError, OverflowError):
            at = min(at, datetime.fromtimestamp(self._path.stat().st_mtime, UTC))
        return max(at, after) if after is not None else at

    def _unrecorded(self, first: datetime | None, last: datetime) -> Writer:
        """Return the writer of a change between two times that no session recorded.

        That is the user, or another program; "unknown" if a session may have failed to record it.
        """
        for doubt in (*self._doubts, *(doubt for log in self._logs for doubt in log.doubts)):
            if doubt.first <= last and (first is None or first <= doubt.last):
                return Writer("unknown", last, reason=doubt.reason)
        return Writer("outside", last)

    def _base(self, records: Sequence[FileChangeRecord]) -> _State:
        """Return the state before the first change: from the oldest readable file version before it, or else from its
        record.
        """
        name = self._names[-1] if self._names else str(self._path)
        first = records[0] if records else None
        versions = list(self._versions())
        for number, (log, at, version) in enumerate(versions):
            if first is not None and at > _at(first):
                break
            try:
                content = self._in_version(log.workspace, version, os.path.relpath(name, log.workspace))
            except SnapshotError:
                continue
            writer = Writer("unknown", at, reason=_OLDER) if number else Writer("before", at, reason=log.id)
            return _State(content, writer)
        if first is not None:
            return _State(first.before, Writer("before", _at(first), reason=_BEFORE_FIRST))
        reason = _OLDER if versions else next(iter(self._notes()), "there are no file versions")
        return _State(Content("disk" if not versions else "none"), Writer("unknown", reason=reason))

    def _in_version(self, directory: str, version: str, path: str) -> Content:
        """Return the content of a file in a file version; without a key if the version does not have it.

        Raises SnapshotError.
        """
        name = directory, version, path
        if name not in self._entries:
            if not _VERSION.fullmatch(version):
                raise SnapshotError(f"{version!r} is not a version")
            listed = self._repository(directory).git(["ls-tree", "-z", "--full-tree", version, "--", path])
            entry = listed.split(b"\t")[0].split()
            is_file = len(entry) == 3 and entry[1] == b"blob"
            content = Content(f"git {entry[2].decode()}", directory=directory) if is_file else Content()
            self._entries[name] = content
        return self._entries[name]

    def _repository(self, directory: str) -> SnapshotRepository:
        """Return the repository with the file versions of a directory. Raises SnapshotError if there is none."""
        if directory not in self._repositories:
            repository = SnapshotRepository(self._locations, Path(directory), "blame")
            if not (repository.directory / "HEAD").is_file():
                raise SnapshotError("this directory has no file versions")
            self._repositories[directory] = repository
        return self._repositories[directory]

    def _blob(self, directory: str, name: str) -> str:
        if self._last_blob[0] != name:
            raw = next(iter(self._repository(directory).contents([name]).values()), b"")
            text = ""  # it was binary then
            with suppress(EditorError):
                text = decoded(self._path, raw)[1]
            self._last_blob = name, text
        return self._last_blob[1]


def _at(record: FileChangeRecord) -> datetime:
    assert record.writer.at is not None
    return record.writer.at


def _without_doubles(records: Sequence[FileChangeRecord]) -> list[FileChangeRecord]:
    """Return the records without those that repeat an action of another session as a change by another program."""

    def is_double(index: int, record: FileChangeRecord) -> bool:
        if record.writer.kind != "outside":
            return False
        others = (
            each
            for each in records[index + 1 :]
            if each.writer.kind == "agent" and each.writer.session != record.writer.session
        )
        action = next(others, None)
        return action is not None and (action.before.key == record.before.key or action.after.key == record.after.key)

    return [record for index, record in enumerate(records) if not is_double(index, record)]


def _source_of(created: FileChangeRecord, contents: Contents) -> tuple[str, Content]:
    """Return which of the deleted files was renamed to the created one, with its content; the path is "" if none
    was.
    """
    return most_similar(_text_or_none(contents, created.after) or "", dict(created.deleted), contents)


def most_similar(text: str, files: Mapping[str, Content], contents: Contents) -> tuple[str, Content]:
    """Return the file that shares the most lines with the text, and its content.

    The path is empty if no file shares at least `_SIMILAR` of them.
    """
    lines = frozenset(split_lines(text))
    best, most = ("", Content()), _SIMILAR
    for path, content in files.items():
        others = frozenset(split_lines(_text_or_none(contents, content) or ""))
        share = len(lines & others) / max(len(lines), len(others), 1)
        if share >= most:
            best, most = (path, content), share
    return best


def _text_or_none(contents: Contents, content: Content) -> str | None:
    try:
        return contents.text(content)
    except WorkbenchError:
        return None


def _readable(states: Sequence[_State], contents: Contents) -> list[_State]:
    """Return the states without those whose content is gone.

    The next state gets an unknown writer, because its lines may come from the omitted one.
    """
    readable: list[_State] = []
    reason = ""
    for state in states:
        if state.content.key.startswith("git ") and _text_or_none(contents, state.content) is None:
            reason = "a file version was pruned or is damaged"
            continue
        if reason:
            state, reason = _State(state.content, Writer("unknown", state.writer.at, reason=reason)), ""
        readable.append(state)
    return readable
