"""Takes snapshots of the workspace and turns the changes between two of them into events."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import SimpleQueue
from types import MappingProxyType
from typing import Literal, TypeAlias

import msgspec

from workbench.files.git import NO_GIT
from workbench.files.root_directory import real_path
from workbench.files.text_file import EditorError, decoded, decoded_versions
from workbench.llm.model import Cancel
from workbench.protocol.events import Event, FileDelta, FilesChanged, VersionTaken
from workbench.protocol.placeholders import NOT_STORED, TOO_LARGE, is_placeholder_of, placeholder
from workbench.protocol.rewind import REWIND
from workbench.session.workspace.attribution import earlier_changes, version_with
from workbench.session.workspace.repository import Change, SnapshotError, SnapshotRepository, join_index
from workbench.session.workspace.snapshot_notices import SnapshotNotices
from workbench.session.workspace.watcher import Changes, Watcher, native_changes
from workbench.text import first_line, well_formed

MOST_FILES = 5_000
"""The most files of one change that an event lists."""
MOST_CONTENTS = 400
"""The most files of one change whose texts an event contains; other texts are read from the versions."""
LONGEST = 300_000
"""The size in bytes of the longest text that an event contains."""
_MOST_BYTES = 4_000_000
_ID_LENGTH = 8
"""How many characters of a version's id a notice has, as in `ohw restore`."""
_NOWHERE = Path()


class Deltas(msgspec.Struct, frozen=True):
    """The files of a change, at most MOST_FILES, and the number of those omitted."""

    files: tuple[FileDelta, ...] = ()
    more: int = 0


class _Budget(msgspec.Struct):
    """Chooses the blobs to read: each in turn that still fits into the remaining bytes."""

    sizes: Mapping[str, int]
    remaining: int = _MOST_BYTES
    chosen: dict[str, None] = msgspec.field(default_factory=dict)

    def choose(self, blob: str) -> None:
        size = self.sizes.get(blob, LONGEST + 1)
        if size <= min(LONGEST, self.remaining):
            self.remaining -= size
            self.chosen[blob] = None


def deltas(
    repository: SnapshotRepository,
    changes: Sequence[Change],
    recorded: Mapping[str, str | None],
    unstored: Mapping[str, bytes] = MappingProxyType({}),
) -> Deltas:
    """Return the changes for an event, without files whose new text is already in `recorded` (by absolute path).

    `unstored` has contents, by blob, that the repository may not have.
    """
    contents = [change for change in changes if change.before != change.after]
    first = contents[:MOST_FILES]
    stored = [blob for blob in _blobs(first) if blob not in unstored]
    sizes = repository.sizes(stored) if stored else {}
    budget = _Budget({**sizes, **{blob: len(raw) for blob, raw in unstored.items()}})
    for blob in _blobs(first[:MOST_CONTENTS]):
        budget.choose(blob)
    raw = {
        **repository.contents([blob for blob in budget.chosen if blob not in unstored]),
        **{blob: unstored[blob] for blob in budget.chosen if blob in unstored},
    }
    files = ((change, _delta(repository, change, raw, budget.sizes)) for change in first)
    new = tuple(file for change, file in files if not _is_recorded(change, file, recorded))
    return Deltas(new, len(contents) - len(first))


def _is_recorded(change: Change, file: FileDelta, recorded: Mapping[str, str | None]) -> bool:
    if file.path not in recorded:
        return False
    content = recorded[file.path]
    return content == file.after or (bool(change.after) and is_placeholder_of(content, change.after))


def _blobs(changes: Sequence[Change]) -> list[str]:
    return list(dict.fromkeys(blob for change in changes for blob in (change.before, change.after) if blob))


def _delta(
    repository: SnapshotRepository, change: Change, raw: Mapping[str, bytes], sizes: Mapping[str, int]
) -> FileDelta:
    path = well_formed(str(repository.workspace / change.path))
    before, after = _versions(change, raw, sizes)
    is_skipped = not change.after and change.path in repository.skipped
    if isinstance(before, _NoText) or isinstance(after, _NoText) or change.has_link or is_skipped:
        cut = TOO_LARGE if is_skipped else _reason(change, before, after)
        lines = [placeholder(cut, sizes.get(blob, 0), blob) if blob else None for blob in (change.before, change.after)]
        lines[1] = f"({cut})\n" if is_skipped else lines[1]
        return FileDelta(path=path, before=lines[0], after=lines[1], cut=cut)
    return FileDelta(path=path, before=before, after=after)


class _NoText(msgspec.Struct, frozen=True):
    """The reason why there is no text to show."""

    reason: str


def _versions(
    change: Change, raw: Mapping[str, bytes], sizes: Mapping[str, int]
) -> tuple[str | _NoText | None, str | _NoText | None]:
    """Return the texts before and after, decoded in the same way if both can be."""
    if change.before in raw and change.after in raw:
        with suppress(EditorError):
            return decoded_versions(_NOWHERE, raw[change.before], raw[change.after])
    return _text(change.before, raw, sizes), _text(change.after, raw, sizes)


def _text(blob: str, raw: Mapping[str, bytes], sizes: Mapping[str, int]) -> str | _NoText | None:
    if not blob:
        return None
    if blob not in raw:
        return _NoText(TOO_LARGE if sizes.get(blob, LONGEST + 1) > LONGEST else NOT_STORED)
    try:
        return decoded(_NOWHERE, raw[blob])[1]
    except EditorError:
        return _NoText("binary")


def _reason(change: Change, *sides: str | _NoText | None) -> str:
    reasons = [text.reason for text in sides if isinstance(text, _NoText)]
    return "link" if change.has_link else reasons[0]


logger = logging.getLogger(__name__)
_FIRST_TIMEOUT, _TIMEOUT = 90.0, 30.0
_CHEAP = 0.02
"""In seconds: if listing the changes of the whole directory takes longer, only paths reported by the watcher are
scanned after an action.
"""
_GATHERING = 0.1
"""How long changes by other programs are gathered for one snapshot, in seconds, unless an action waits for it."""
_WATCHER_SECONDS = 2.5
"""How long the recorder waits for the watcher to report the changes made so far, in seconds."""
_IDLE_FACTOR = 100
"""At most one hundredth of the time is spent on polling: each pause is this many times as long as listing the
changes.
"""
_MAX_PATHS, _MAX_PATHS_BYTES = 1_000, 100_000
"""The most paths that are scanned one by one, and their most bytes; if there are more, the whole directory is
scanned.
"""
_MAX_FAULTS = 3


CopyDeleted: TypeAlias = Callable[[str, str, Sequence[Change]], str]
"""Copies files that an action deleted, given its id, the version before it and the deletions.

Returns the id of the copy, or "".
"""


class SnapshotRequest(msgspec.Struct, frozen=True):
    """A request for a snapshot; `recorded` are the contents that the log already has, by absolute path."""

    cause: Literal["first", "action", "person", "other", "end", "rewind"]
    action_id: str = ""
    recorded: Mapping[str, str | None] = msgspec.field(default_factory=dict)
    started: int = 0
    """When the action started, in nanoseconds; 0 for other causes."""


class SnapshotPace:
    """Measures how long the snapshots take."""

    def __init__(self) -> None:
        self._began: float | None = None
        self._last = 0.0

    @contextmanager
    def measured(self, *, is_first: bool) -> Iterator[None]:
        """Measure the snapshot that is taken within the block. The first one, of all files, ends up as 0 seconds."""
        began = self._began = time.monotonic()
        try:
            yield
        finally:
            self._last = 0.0 if is_first else time.monotonic() - began
            self._began = None

    def is_slower_than(self, seconds: float) -> bool:
        """Return whether the last snapshot took longer than this, or the one being taken already does."""
        began = self._began
        return self._last > seconds or (began is not None and time.monotonic() - began > seconds)


class SnapshotRecorder:
    """Takes the snapshots of one session in a thread, and reports the changes since the previous one."""

    def __init__(
        self,
        repository: SnapshotRepository,
        *,
        report: Callable[[Sequence[Event]], None],
        is_writing: Callable[[], bool],
        copy_deleted: CopyDeleted,
        last: str = "",
        changes: Changes = native_changes,
    ) -> None:
        """`is_writing` returns whether an action that may write is running; `last` is the last snapshot in the log."""
        self.repository = repository
        self._watcher = Watcher(
            repository.workspace, repository.marks, self._on_change, lambda: self._cost * _IDLE_FACTOR, changes
        )
        self._report = report
        self._is_writing = is_writing
        self._copy_deleted = copy_deleted
        self._requests: SimpleQueue[SnapshotRequest | None] = SimpleQueue()
        self._changed = threading.Condition()
        self._pending = self._waiting = 0
        self._thread: threading.Thread | None = None
        self._last = last
        self._expected: dict[str, str | None] = {}
        self._cost = 0.0
        self.pace = SnapshotPace()
        self._notices = SnapshotNotices(repository.workspace)
        self.faults = 0
        """How many snapshots in a row could not be taken, up to and including the last one."""
        self._started = 0
        """When the first action started whose snapshot failed, since the next snapshot includes its changes."""
        self._was_ready = False
        self._is_closing = self._is_closed = False
        self.is_off = False
        """Whether snapshots are given up, because they cannot be taken."""

    def request(self, request: SnapshotRequest) -> None:
        """Request a snapshot and return at once; it is taken in the recorder's thread."""
        with self._changed:
            if self.is_off:
                return
            if self._thread is None:
                thread = threading.Thread(target=self._work, name="session-versions", daemon=True)
                thread.start()
                self._thread = thread
            self._pending += 1
        self._requests.put(request)

    def expect(self, contents: Mapping[str, str | None]) -> None:
        """Announce files to be written for the user: a running scan may see them before they are recorded."""
        with self._changed:
            self._expected = {**self._expected, **contents}

    def stop_expecting(self, contents: Mapping[str, str | None]) -> None:
        """Forget announced files: they have been scanned, or were not written after all."""
        with self._changed:
            self._expected = {
                path: text for path, text in self._expected.items() if (path, text) not in contents.items()
            }

    def wait(self, cancel: Cancel, seconds: float) -> bool:
        """Wait until every request is done or the user interrupts; return False if it takes longer than `seconds`."""
        if self._thread is not None and self._watcher.problem:
            self.request(SnapshotRequest("other"))
        until = time.monotonic() + seconds
        with self._changed:
            self._waiting += 1
            self._changed.notify_all()
            while self._pending and not cancel.is_set and time.monotonic() < until:
                self._changed.wait(0.05)
            self._waiting -= 1
            return not self._pending or cancel.is_set

    def report_slow(self) -> None:
        """Report, once, that an action starts before the snapshot that should precede it was taken."""
        text = "the file versions of this directory take long; changes of an action may be shown with the next one"
        if notice := self._notices.once(text):
            self._emit([VersionTaken(notice=notice)])

    def close(self, seconds: float = 1.0) -> None:
        """Finish the requests if that takes no more than `seconds`, and end the threads."""
        self._watcher.close()
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        self._requests.put(None)
        if self._thread is not None:
            self._thread.join(seconds)
        self._is_closed = True

    def _emit(self, events: Sequence[Event]) -> None:
        if events and not self._is_closed:
            self._report(events)

    def _on_change(self) -> None:
        with self._changed:
            is_idle = not self._pending
        if is_idle and not self._is_writing():
            self.request(SnapshotRequest("other"))

    def _work(self) -> None:
        while (request := self._requests.get()) is not None:
            try:
                with self.pace.measured(is_first=request.cause == "first"):
                    events = self._carry_out(request) if self._is_due(request) else []
                self._emit(events)
            finally:
                if request.cause == "person":
                    self.stop_expecting(request.recorded)
                with self._changed:
                    self._pending -= 1
                    self._changed.notify_all()
            if request.cause == "first" and not self.is_off:
                self.repository.prune()
            if self._watcher.has_news and not self.is_off:  # changes were reported during this scan
                self._on_change()
        join_index(self.repository)

    def _is_due(self, request: SnapshotRequest) -> bool:
        """For changes by other programs, wait for more; return False if a later snapshot will include them."""
        if request.cause != "other":
            return True
        with self._changed:
            self._changed.wait_for(lambda: self._pending > 1 or self._waiting or self._is_closing, _GATHERING)
            return self._pending == 1 and not self._is_writing()

    def _carry_out(self, request: SnapshotRequest) -> list[Event]:
        try:
            events = self._first(request) if request.cause == "first" else self._next(request)
        except SnapshotError as error:
            return self._fail(request, str(error))
        except (OSError, ValueError, RuntimeError) as error:  # this thread must not end: actions would wait for it
            logger.exception("a file version could not be taken")
            return self._fail(request, str(error))
        self.faults = 0
        return events

    def _first(self, request: SnapshotRequest) -> list[Event]:
        """Take the first snapshot; report what differs from the last one in the log as changes by other programs.

        Nothing is reported if a rewind has just been finished, whose changes the log has.
        """
        self.repository.prepare()
        self._watcher.start()
        since = self._last
        self._last = self.repository.snapshot(timeout=_FIRST_TIMEOUT)
        self._cost = self.repository.listing_seconds
        events: list[Event] = []
        if since and since != self._last and request.action_id != REWIND:
            events += self._changed_by_others(self._deltas(self._difference(since, self._last), {}))
        return [*events, VersionTaken(version=self._last, action_id=request.action_id, notice=self._notice())]

    def _next(self, request: SnapshotRequest) -> list[Event]:
        paths, before = self._paths_to_scan(request), self._last
        if paths is not None and not paths:
            return []
        skipped = frozenset(self.repository.skipped)
        version = self.repository.snapshot(paths, timeout=_TIMEOUT)
        self._cost = self.repository.listing_seconds
        if version == before or request.cause == "rewind":  # the log has the changes of a rewind already
            notice, self._last = self._notice(), version
            is_needed = notice or request.cause == "rewind"
            return [VersionTaken(version=version, action_id=request.action_id, notice=notice)] if is_needed else []
        changes = self._difference(before, version)
        self._last = version
        if request.cause != "action":
            files = self._deltas(changes, request.recorded)
            return [*self._changed_by_others(files), VersionTaken(version=version, notice=self._notice())]
        started, self._started = self._started or request.started, 0
        earlier = earlier_changes(self.repository, changes, started, skipped)
        events: list[Event] = []
        if earlier:
            files = self._deltas([change for change in earlier if change.before], {})
            version_before = version_with(self.repository, before, earlier)
            events = [*self._changed_by_others(files), VersionTaken(version=version_before)]
            changes = [change for change in changes if change not in earlier]
        files = self._deltas(changes, request.recorded)
        deleted = [change for change in changes if not change.after and change.path not in self.repository.skipped]
        return [
            *events,
            VersionTaken(
                version=version,
                action_id=request.action_id,
                files=files.files,
                more=files.more,
                notice=". ".join(filter(None, (_unlisted(files.more, before), self._notice()))),
                copy_id=self._copy_deleted(request.action_id, before, deleted) if deleted else "",
            ),
        ]

    def _paths_to_scan(self, request: SnapshotRequest) -> list[str] | None:
        """Return the paths to scan, or None for the whole directory."""
        watcher = self._watcher
        was_ready, self._was_ready = self._was_ready, watcher.is_ready
        if not watcher.is_whole or request.cause == "rewind":
            watcher.drain()
            return None
        if request.cause == "other":
            return _few(watcher.drain())
        if request.cause == "end":
            if was_ready:
                self._check_watcher()
            return None
        if self._cost <= _CHEAP or not watcher.catch_up(_WATCHER_SECONDS):
            watcher.drain()
            return None
        return _few(watcher.drain())

    def _check_watcher(self) -> None:
        """Check that the watcher has reported every change; use this only before the whole directory is scanned."""
        changed = set(self.repository.changed()) - self.repository.skipped
        if not changed:
            return
        self._watcher.catch_up(_WATCHER_SECONDS)
        reported = self._watcher.drain()
        if not all(any(_covers(one, path) for one in reported) for path in changed):
            self._watcher.fall_back("it missed changes")

    def _difference(self, before: str, after: str) -> list[Change]:
        try:
            return self.repository.difference(before, after)
        except SnapshotError:  # the older version was pruned
            return []

    def _deltas(self, changes: Sequence[Change], recorded: Mapping[str, str | None]) -> Deltas:
        try:
            return deltas(self.repository, changes, {**self._expected, **recorded})
        except SnapshotError:
            return Deltas()

    def _changed_by_others(self, changed: Deltas) -> list[Event]:
        """Return an event with the changes made by other programs, without files that change too often."""
        files = self._notices.infrequent(changed.files)
        return [FilesChanged(files=files, by="other")] if files else []

    def _notice(self) -> str:
        return self._notices.pending(self._watcher.problem, self.repository.skipped)

    def _fail(self, request: SnapshotRequest, reason: str) -> list[Event]:
        self.faults += 1
        self._started = self._started or request.started
        self.is_off = request.cause == "first" or reason == NO_GIT or self.faults >= _MAX_FAULTS
        if self.is_off:
            self._watcher.close()
        state = "there are no file versions" if self.is_off else "a file version could not be taken"
        notice = self._notices.once(first_line(f"{state}: {reason}", 300))
        return [VersionTaken(notice=notice)] if notice else []


def _unlisted(more: int, before: str) -> str:
    """Return the notice about changed files that an event does not list, with the command that restores them."""
    if not more:
        return ""
    files = "1 more file was" if more == 1 else f"{more:,} more files were"
    return f"{files} changed than are listed: `ohw restore {before[:_ID_LENGTH]} PATH` restores them"


def _few(paths: list[str]) -> list[str] | None:
    return paths if len(paths) <= _MAX_PATHS and sum(map(len, paths)) <= _MAX_PATHS_BYTES else None


def _covers(directory: str, path: str) -> bool:
    return directory in (path, ".") or path.startswith(f"{directory}/")


def contents_of(files: Sequence[FileDelta]) -> dict[str, str | None]:
    """Return the content of each file after the change, by absolute path, for a SnapshotRequest."""
    return {real_path(file.path): file.after for file in files}
