"""The log of a running session: every event is on disk before the state or a listener receives it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, Protocol

from msgspec.structs import replace

from workbench.protocol.events import ActionObserved, ActionProposed, Event, Rewound, SettingsChanged, UserMessage
from workbench.secrets.masker import MASKER
from workbench.session.state import State
from workbench.session.storage.active_path import ActivePath, rewinds_of
from workbench.session.storage.file_steps import FileStep, steps_of
from workbench.session.storage.store import Store, StoreError

STEPS: Final = frozenset({"action_assessed", "action_started"})
"""Kinds of events that only the state applies: they affect neither the messages to the model nor any count."""

Listener = Callable[[Event], None]


class Reducer(Protocol):
    """A part of the session's state that depends on nothing but its events."""

    def apply(self, event: Event) -> None:
        """Consume the next event; never raises, whatever the order of events is."""


class PathReducer(Reducer, Protocol):
    """A reducer that applies only the events on the active path."""

    def restart(self) -> None:
        """Reset to the state before the first event."""


def _ignore(event: Event) -> None:
    """Do nothing; the default listener."""


class Log:
    """Commits events and keeps the state and all reducers up to date with them.

    A caller whose commit depends on the state must hold `lock` from reading the state until the commit.
    """

    def __init__(
        self,
        store: Store,
        on_event: Listener = _ignore,
        *,
        state: State | None = None,
        path_reducers: Sequence[PathReducer] = (),
        reducers: Sequence[Reducer] = (),
        after: int = 0,
    ) -> None:
        """Replay the events of the store into `state` (a new one by default) and the reducers.

        `path_reducers` follow rewinds; the state and the `reducers` get every event, on whatever branch, and handle a
        `rewound` themselves. Neither kind of reducer gets STEPS, which make up a third of a long log. The state and all
        reducers have already consumed the events up to `after`.
        """
        self.lock = threading.RLock()
        self.state = state or State()
        self._store = store
        self._path_reducers = tuple(path_reducers)
        self._appliers = tuple(reducer.apply for reducer in reducers)
        self._listeners = [on_event]
        self._unsaved: tuple[Event, ...] = ()
        self.last_seq = after
        """The number of the last event."""
        self.fault = ""
        """Why the last attempt to write failed; empty while the log can be written."""
        path = self.path_to(store.last_seq)
        first = after
        if after and any(each.start > after for each in path.ranges[1:]):
            # a rewind that the path reducers have not seen yet
            self._restart_path()
            first = 0
        for event in store.events(first):
            self._apply(event, is_active=event.seq in path, is_consumed=event.seq <= after)

    def path_to(self, head: int) -> ActivePath:
        """Return the path of the conversation that leads to event `head`. Raises StoreError."""
        return ActivePath(head, rewinds_of(self._store))

    def files_path_to(self, head: int) -> ActivePath:
        """Return the path of the files that leads to event `head`. Raises StoreError."""
        return ActivePath(head, rewinds_of(self._store, besides="conversation"))

    def file_rewinds(self) -> list[int]:
        """Return the numbers of the rewinds that moved files, in order. Raises StoreError."""
        return [rewind.seq for rewind in rewinds_of(self._store, besides="conversation")]

    def steps(self) -> list[FileStep]:
        """Return the changes of files by the agent's actions, of all branches. Raises StoreError."""
        return steps_of(self._store)

    def events(self, numbers: Iterable[int]) -> Iterator[Event]:
        """Yield the events with these numbers. Raises StoreError."""
        chosen = frozenset(numbers)
        return (event for event in self._store.events(min(chosen, default=1) - 1) if event.seq in chosen)

    def listen(self, listener: Listener) -> None:
        """Call `listener` with each event from now on, after the existing listeners."""
        self._listeners.append(listener)

    @property
    def has_unsaved(self) -> bool:
        """Whether something has happened that could not be written yet."""
        return bool(self._unsaved)

    def commit(self, *events: Event, lasting: bool = True, happened: bool = False) -> None:
        """Write the events, then update state and reducers, then call the listeners.

        Raises StoreError if they cannot be written. Events that report what has already `happened` (a response, a
        result) are then kept and written before anything else. `lasting` is passed to `Store.append`.
        """
        with self.lock:
            batch = (*self._unsaved, *(self._in_turn(event) for event in events))
            if not batch:
                return
            try:
                written = self._store.append(*batch, lasting=lasting)
            except StoreError as error:
                self.fault = str(error)
                if happened:
                    self._unsaved = batch
                raise
            self._unsaved, self.fault = (), ""
            for event in written:
                if isinstance(event, Rewound) and event.scope != "files":
                    self._follow_path_to(event)
                self._apply(event)
            # last, so that a listener that raises leaves the state consistent with the log
            for event in written:
                for listener in self._listeners:
                    listener(event)

    def save(self) -> None:
        """Retry the events that could not be written. Raises StoreError, also if the file was deleted, moved or
        replaced.
        """
        with self.lock:
            self._store.check_not_replaced()
            if self._unsaved:
                self.commit()

    def rewritten_file(self) -> str:
        """Return the path of the session file if another process has written to it since the last call, else ""."""
        return str(self._store.path) if self._store.others_wrote() else ""

    def _in_turn(self, event: Event) -> Event:
        turn = self.state.turn + isinstance(event, UserMessage)
        changes: dict[str, Any] = {"turn": turn}
        if isinstance(event, ActionObserved):  # here, because every result passes through it
            changes["observation"] = MASKER.masked_data(event.observation)
        if isinstance(event, ActionObserved | ActionProposed) and event.rendering:
            changes["rendering"] = MASKER.masked(event.rendering)
        return replace(event, **changes)

    def _restart_path(self) -> None:
        for reducer in self._path_reducers:
            reducer.restart()

    def _follow_path_to(self, rewound: Rewound) -> None:
        """Apply to the path reducers the events that lead to a new rewind."""
        self._restart_path()
        path = self.path_to(rewound.seq)
        for event in self._store.events():
            is_active = event.seq in path or isinstance(event, SettingsChanged)
            if event.seq < rewound.seq and is_active and event.kind not in STEPS:
                for reducer in self._path_reducers:
                    reducer.apply(event)

    def _apply(self, event: Event, *, is_active: bool = True, is_consumed: bool = False) -> None:
        """Update the state and the reducers; if `is_consumed`, only the path reducers, as the others know the event
        already.
        """
        self.last_seq = max(self.last_seq, event.seq)
        if not is_consumed:
            self.state.apply(event)
        if event.kind in STEPS:
            return
        if is_active or isinstance(event, SettingsChanged):  # settings do not go back
            for reducer in self._path_reducers:
                reducer.apply(event)
        if not is_consumed:
            for apply in self._appliers:
                apply(event)
