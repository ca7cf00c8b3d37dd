"""The log of a running session with what follows from it: every event goes through here, to disk first."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import replace

from workbench.protocol.events import ActionObserved, CondensingUndone, Event, HistoryCondensed, UserMessage
from workbench.secrets.masker import KNOWN
from workbench.session.limits.failures import Failures
from workbench.session.limits.limits import TokenCount
from workbench.session.limits.loops import LoopWatch
from workbench.session.state import Ledger, OpenAction
from workbench.session.storage.store import Store, StoreError
from workbench.session.turn.context_parts import PartCount
from workbench.session.turn.context_window import Room
from workbench.session.turn.history import MAX_OBSERVE, History
from workbench.session.turn.resources import Wanted

STEPS: Final = frozenset({"action_assessed", "action_decided", "action_started"})
"""Kinds of events that take an action on its way: what it took, did and said is in the others."""


def _ignore(event: Event) -> None:
    """Nobody asks for the past."""


class Journal:
    """Commits events and keeps what follows from them at their height; whoever reads and then commits holds `lock`."""

    def __init__(
        self,
        store: Store,
        on_event: Callable[[Event], None],
        max_observe: int = MAX_OBSERVE,
        on_past: Callable[[Event], None] = _ignore,
    ) -> None:
        self.lock = threading.RLock()
        self.ledger = Ledger()
        self.history = History(max_observe)
        self.tokens = TokenCount()
        self.loops = LoopWatch()
        self.failures = Failures()
        self.room = Room()
        self.wanted = Wanted()
        self.parts = PartCount(max_observe)
        self._store = store
        self._on_event = on_event
        self._unsaved: tuple[Event, ...] = ()
        self.fault = ""
        """Why the last attempt to write failed; empty while the log can be written."""
        for event in store.events():
            self._fold(event)
            on_past(event)

    @property
    def has_unsaved(self) -> bool:
        """Whether something that happened could not be written yet."""
        return bool(self._unsaved)

    def commit(self, *events: Event, lasting: bool = True, happened: bool = False) -> None:
        """Write the events, then let state, history and listener know.

        Raises StoreError when they cannot be written. What has already `happened` (an answer, a result) is then kept
        and written before anything else.
        """
        with self.lock:
            batch = (*self._unsaved, *(self._in_turn(event) for event in events))
            if not batch:
                return
            try:
                kept = self._store.append(*batch, lasting=lasting)
            except StoreError as error:
                self.fault = str(error)
                if happened:
                    self._unsaved = batch
                raise
            self._unsaved, self.fault = (), ""
            for event in kept:
                self._fold(event)
            for event in kept:  # last: a listener that fails leaves the state true to the log
                self._on_event(event)

    def questions(self) -> list[OpenAction]:
        """All that waits for the person, in order."""
        with self.lock:
            return self.ledger.waiting

    def save(self) -> None:
        """Try again to write what could not be written; raises StoreError, also where the file is gone by now."""
        with self.lock:
            self._store.check_in_place()
            if self._unsaved:
                self.commit()

    def _in_turn(self, event: Event) -> Event:
        turn = self.ledger.turn + isinstance(event, UserMessage)
        changed: dict[str, Any] = {"turn": turn}
        if isinstance(event, ActionObserved):  # here, so that no result whatever gets past it
            changed["observation"] = KNOWN.masked_data(event.observation)
        return replace(event, **changed)

    def _fold(self, event: Event) -> None:
        self.ledger.apply(event)
        self.history.apply(event)
        if event.kind in STEPS:
            return  # more than half of a log
        self.tokens.apply(event)
        self.loops.apply(event)
        self.failures.apply(event)
        self.room.apply(event)
        self.wanted.apply(event)
        self.parts.apply(event)
        if isinstance(event, HistoryCondensed | CondensingUndone):
            self.parts.recount(self.history.sent)
