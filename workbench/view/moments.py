"""The session as it was at any of its events, for the time view: the events up to that one, applied as on the screen.

Like a long session, it is read in parts: the state before the last few hundred events comes from a digest, and the
older items are read on request.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from copy import copy
from itertools import islice
from pathlib import Path
from typing import Any, Final

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
from workbench.view.state import Item, NoticeItem, Reads, SessionState

_LEAST: Final = 160
"""The fewest events before a moment whose items are at hand, unless the session has fewer."""
_BEHIND: Final = 500
_AHEAD: Final = 120
"""The numbers of events read beyond those that a moment needs, before and after it, to make the next steps quick."""
_INTERVAL: Final = 60
"""The number of events between two saved states."""
_MOST_PARTS: Final = 3
_OF_EVERY_BRANCH: Final = (Branch, ModelAsked, SettingsChanged)
_MESSAGES: Final = "SELECT seq FROM events WHERE kind IN ('user_message', 'person_command') ORDER BY seq"


class PastState(Struct, frozen=True):
    """The session as it was when `event` was its last one; items before those of the state are read from `past`."""

    state: SessionState
    event: Event | None
    past: Past | None


class _SavedState(Struct, frozen=True):
    """The state after the first `count` events of a part, of which `event` is the last."""

    count: int
    event: Event | None
    state: SessionState


class _Part(Struct, frozen=True):
    """Events of the path that was active at each event from `first` to `last`, and the states at some of them."""

    first: int
    last: int
    events: list[Event | Branch]
    states: list[_SavedState]
    past: Past | None


class Moments:
    """The states of one session file; the parts read last are kept, so a step from one event to the next is quick."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._parts: list[_Part] = []

    def has(self, seq: int) -> bool:
        """Return whether `at` can return the session at event `seq` without reading the file."""
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
        nearest = next(each for each in reversed(part.states) if each.event is None or each.event.seq <= seq)
        state, last = copy_of(nearest.state), nearest.event
        for event in islice(part.events, nearest.count, None):
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
        last = max(seq, min(last, seq + _AHEAD))
        history, events = self._history(seq, last, _LEAST + _BEHIND + last - seq)
        state = SessionState()
        if history.digest is not None:
            begin_after(state, settled(history.digest))
            first = max(first, history.digest.start + _LEAST)
        return _Part(first, last, events, _states(state, events), history.past)

    def _history(self, seq: int, last: int, least: int) -> tuple[EventHistory, list[Event | Branch]]:
        """Read `least` events up to event `last`, and more if a rewind took most of those before `seq` off the path."""
        history = read_history(Store.open(self._path, readonly=True), least, last)
        events = list(history)
        on_path = sum(not isinstance(event, _OF_EVERY_BRANCH) and event.seq <= seq for event in events)
        if history.digest is None or on_path > _LEAST // 2:
            return history, events
        return self._history(seq, last, 4 * least)


def _states(state: SessionState, events: Sequence[Event | Branch]) -> list[_SavedState]:
    """Return the state before the events, and a copy of it after each `_INTERVAL` of them."""
    states, last = [_SavedState(0, None, copy_of(state))], None
    for count, event in enumerate(events, 1):
        apply(state, event)
        last = last if isinstance(event, Branch) else event
        if count % _INTERVAL == 0:
            states.append(_SavedState(count, last, copy_of(state)))
    return states


def copy_of(state: SessionState) -> SessionState:
    """Return a copy of a state to which events can be applied without changing the other one."""
    copies: dict[int, Any] = {id(item): copy(item) for item in (*state.items, *state.actions.values())}
    for item in copies.values():
        if isinstance(item, NoticeItem) and item.run is not None:
            item.run = replace(item.run, files=dict(item.run.files))
    groups = {id(item.reads): item.reads for item in state.actions.values() if item.reads is not None}
    for group in groups.values():
        reads = Reads()
        reads.items, reads.is_open = [copies[id(item)] for item in group.items], group.is_open
        for item in reads.items:
            item.reads = reads
    return replace(
        state,
        items=[copies[id(item)] for item in state.items],
        actions={name: copies[id(item)] for name, item in state.actions.items()},
        running={name: copies[id(item)] for name, item in state.running.items()},
        queued=deque(copies[id(item)] for item in state.queued),
        waiting=[*state.waiting],
        tasks=[replace(task, steps=[*task.steps]) for task in state.tasks],
        changes={path: copy(file) for path, file in state.changes.items()},
        turn_changes={path: copy(file) for path, file in state.turn_changes.items()},
        fallbacks=set(state.fallbacks),
        delegate_responses=dict(state.delegate_responses),
    )


def _stop(state: SessionState, last: Event | None) -> None:
    """Stop the clocks of running actions at the time of the last event: in a past state, nothing runs."""
    for item in state.running.values():
        item.frozen_at = last.at if last is not None else None
    state.running.clear()
    state.work = "idle"


def end_of_row(state: SessionState, item: Item) -> int | None:
    """Return the number of the last event before the row after the item's in the timeline; None if there is none."""
    rows = [each for each in state.items if has_row(each) and not is_hidden(each)]
    at = next((at for at, each in enumerate(rows) if each is item), len(rows))
    return max(item.seq, rows[at + 1].seq - 1) if at + 1 < len(rows) else None
