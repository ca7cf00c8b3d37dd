"""The session as it was at any of its events, for the time view: the events up to that one, applied as on the screen.

Like a long session, it is read in parts: the state before the last few hundred events comes from a digest, and the
older items are read on request.
"""

from __future__ import annotations

from copy import copy
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from workbench.client.client import EventHistory, Past
from workbench.client.log_reader import read_history
from workbench.protocol.events import Event, ModelAsked, SettingsChanged
from workbench.session.storage.active_path import rewinds_of
from workbench.session.storage.paging import Branch
from workbench.session.storage.store import Store
from workbench.view.follower import begin_after, settled
from workbench.view.formatting.timeline_rows import has_row
from workbench.view.read_groups import is_hidden
from workbench.view.reducer import apply
from workbench.view.state import Item, SessionState

_LEAST: Final = 160
"""The fewest events before a moment whose items are at hand, unless the session has fewer."""
_MARGIN: Final = 120
"""Events on either side of a moment that are read with it, for the next steps."""
_MOST_PARTS: Final = 8
_OF_EVERY_BRANCH: Final = (Branch, ModelAsked, SettingsChanged)
_MESSAGES: Final = "SELECT seq FROM events WHERE kind IN ('user_message', 'person_command') ORDER BY seq"


class PastState(Struct, frozen=True):
    """The session as it was when `event` was its last one; items before those of the state are read from `past`."""

    state: SessionState
    event: Event | None
    past: Past | None


class _Part(Struct, frozen=True):
    """Events of the path that was active at each event from `first` to `last`, and the state before them."""

    first: int
    last: int
    events: list[Event | Branch]
    before: SessionState | None
    past: Past | None


class Moments:
    """The states of one session file; the parts read last are kept, so a step from one event to the next is quick."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._parts: list[_Part] = []

    def has(self, seq: int) -> bool:
        """Return whether `at` needs no reading of the file."""
        return self._part(seq) is not None

    def read(self, seq: int) -> None:
        """Read the events around event `seq`; blocks. Raises StoreError."""
        if not self.has(seq):
            self._parts = [self._read(seq), *self._parts][:_MOST_PARTS]

    def messages(self) -> list[int]:
        """Return the numbers of the user's messages and commands, on every branch; blocks. Raises StoreError."""
        with Store.open(self._path, readonly=True) as store:
            return [seq for (seq,) in store.query(_MESSAGES)]

    def at(self, seq: int) -> PastState:
        """Return the session as it was at event `seq`; blocks if its part has to be read. Raises StoreError."""
        self.read(seq)
        part = self._part(seq)
        assert part is not None
        state = SessionState()
        last: Event | None = None
        if part.before is not None:
            begin_after(state, _copy(part.before))
        for event in part.events:
            if not isinstance(event, Branch):
                if event.seq > seq:
                    break
                last = event
            apply(state, event)
        _stop(state, last)
        return PastState(state, last, part.past)

    def _part(self, seq: int) -> _Part | None:
        return next((part for part in self._parts if part.first <= seq <= part.last), None)

    def _read(self, seq: int) -> _Part:
        """Read the part around event `seq`, but not beyond the rewinds before and after it, which change the path."""
        with Store.open(self._path, readonly=True) as store:
            rewinds = [rewind.seq for rewind in rewinds_of(store)]
            first = max((each for each in rewinds if each <= seq), default=1)
            last = min((each - 1 for each in rewinds if each > seq), default=store.last_seq)
        last = max(seq, min(last, seq + _MARGIN))
        history, events = self._history(seq, last, _LEAST + _MARGIN + last - seq)
        if history.digest is None:
            return _Part(first, last, events, None, history.past)
        return _Part(max(first, history.digest.start + _LEAST), last, events, settled(history.digest), history.past)

    def _history(self, seq: int, last: int, least: int) -> tuple[EventHistory, list[Event | Branch]]:
        """Read that many events up to event `last`; more if a rewind took most of those before `seq` off the path."""
        history = read_history(Store.open(self._path, readonly=True), least, last)
        events = list(history)
        on_path = sum(not isinstance(event, _OF_EVERY_BRANCH) and event.seq <= seq for event in events)
        if history.digest is None or on_path > _LEAST // 2:
            return history, events
        return self._history(seq, last, 4 * least)


def _copy(state: SessionState) -> SessionState:
    """Return a copy of a state without items, which can be changed without changing the other one."""
    tasks = [replace(task, steps=[*task.steps]) for task in state.tasks]
    changes, turn_changes = (
        {path: copy(file) for path, file in files.items()} for files in (state.changes, state.turn_changes)
    )
    return replace(state, tasks=tasks, changes=changes, turn_changes=turn_changes)


def _stop(state: SessionState, last: Event | None) -> None:
    """Let the clocks of running actions stand at the time of the last event."""
    for item in state.running.values():
        item.frozen_at = last.at if last is not None else None
    state.running.clear()
    state.work = "idle"


def end_of_row(state: SessionState, item: Item) -> int | None:
    """Return the last event before the next row of the timeline, or None if the item's row is the last one."""
    rows = [each for each in state.items if has_row(each) and not is_hidden(each)]
    at = next((at for at, each in enumerate(rows) if each is item), len(rows))
    return max(item.seq, rows[at + 1].seq - 1) if at + 1 < len(rows) else None
