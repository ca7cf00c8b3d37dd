"""The log of a running session: every event is on disk before the state or a listener receives it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from msgspec.structs import replace

from workbench.protocol.events import ActionObserved, ActionProposed, Event, UserMessage
from workbench.secrets.masker import MASKER
from workbench.session.state import State
from workbench.session.storage.store import Store, StoreError

STEPS: Final = frozenset({"action_assessed", "action_started"})
"""Kinds of events that only the state applies: they add nothing to the model's messages and to no count."""

Listener = Callable[[Event], None]


class Reducer(Protocol):
    """A part of the session's state that depends on its events alone."""

    def apply(self, event: Event) -> None:
        """Consume the next event; never raises, whatever the order of events is."""


def _ignore(event: Event) -> None:
    """Do nothing; the default listener."""


class Log:
    """Commits events and keeps every reducer up to date with them.

    A caller whose commit depends on the state must hold `lock` from reading the state until the commit.
    """

    def __init__(
        self,
        store: Store,
        on_event: Listener = _ignore,
        *,
        state: State | None = None,
        reducers: Sequence[Reducer] = (),
        after: int = 0,
    ) -> None:
        """Replay the events of the store into `state` (a new one by default) and the reducers.

        `reducers` do not get STEPS, which make up a third of a long log. State and reducers have already consumed the
        events up to `after`.
        """
        self.lock = threading.RLock()
        self.state = state or State()
        self._store = store
        self._appliers = tuple(reducer.apply for reducer in reducers)
        self._listeners = [on_event]
        self._unsaved: tuple[Event, ...] = ()
        self.last_seq = after
        """The number of the last event."""
        self.fault = ""
        """Why the last attempt to write failed; empty while the log can be written."""
        for event in store.events(after):
            self._apply(event)

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
        """Return the path of the session file if another process has written to it since the last call, else `""`."""
        return str(self._store.path) if self._store.others_wrote() else ""

    def _in_turn(self, event: Event) -> Event:
        turn = self.state.turn + isinstance(event, UserMessage)
        changes: dict[str, Any] = {"turn": turn}
        if isinstance(event, ActionObserved):  # here, because every result passes through it
            changes["observation"] = MASKER.masked_data(event.observation)
        if isinstance(event, ActionObserved | ActionProposed) and event.rendering:
            changes["rendering"] = MASKER.masked(event.rendering)
        return replace(event, **changes)

    def _apply(self, event: Event) -> None:
        self.last_seq = max(self.last_seq, event.seq)
        self.state.apply(event)
        if event.kind not in STEPS:
            for apply in self._appliers:
                apply(event)
