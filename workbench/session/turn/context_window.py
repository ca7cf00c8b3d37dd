"""How much room the history takes in the model's window and whether it is to be condensed, event by event; pure."""

from __future__ import annotations

from typing import Literal, TypeAlias

from workbench.protocol.events import (
    ActionObserved,
    ActionProposed,
    CondensingAsked,
    CondensingUndone,
    Event,
    HistoryCondensed,
    ModelResponded,
    SettingsChanged,
    UserMessage,
)
from workbench.session.limits.limits import SIGNS_A_TOKEN, Limits
from workbench.session.storage.words import observed_text
from workbench.tools.request_condensation.definition import NAME

Reason: TypeAlias = Literal["asked", "person", "overflow", "tokens", "events"]


class Room:
    """Since the last answer and since the person spoke last; no event costs more in a longer session."""

    def __init__(self) -> None:
        self.was_too_full = False
        """Whether the history was condensed for a full window since the person spoke last."""
        self._asking: set[str] = set()
        self._is_asked = False
        self._is_wanted = False  # by the person; no answer takes that back
        self._is_fresh = False
        self._is_whole = False  # the person took a condensing back: no limit of the settings brings it again
        self._tokens = 0
        self._signs = 0
        self._window: int | None = None

    @property
    def tokens(self) -> int:
        """About what the next request takes; 0 when nothing is known yet."""
        return self._tokens + self._signs // SIGNS_A_TOKEN if self._tokens else 0

    def window(self, limits: Limits) -> int | None:
        """The model's window in tokens: what is set, or else what the last answer told of it."""
        return limits.context_window or self._window

    def reason(self, limits: Limits, length: int) -> Reason | None:
        """Why the history, of so many messages, is to be condensed before the next call of the model."""
        if self._is_wanted:
            return "person"
        if self._is_fresh:
            return None
        if self._is_asked:
            return "asked"
        if self._is_whole:
            return None
        if limits.condense_events and length > limits.condense_events:
            return "events"
        full = (self.window(limits) or 0) * limits.condense_percent / 100
        return "tokens" if full and self.tokens > full else None

    def apply(self, event: Event) -> None:
        """Take in the next event; total: no order of events raises."""
        match event:
            case UserMessage():
                self.was_too_full = False
                self._signs += len(event.text)
            case ModelResponded():
                self._apply_answer(event)
            case SettingsChanged() if event.model:
                self._window = None
            case ActionProposed() if event.tool == NAME and not event.error:
                self._asking.add(event.action_id)
            case ActionObserved():
                self._signs += len(observed_text(event.observation))
                self._is_asked |= event.action_id in self._asking and event.ran
            case CondensingAsked():
                self._is_wanted = True
            case HistoryCondensed() | CondensingUndone():
                self._apply_condensing(event)

    def _apply_condensing(self, event: HistoryCondensed | CondensingUndone) -> None:
        if isinstance(event, CondensingUndone):
            self._is_whole, self._is_fresh, self.was_too_full = True, False, False
            return
        self._is_asked = self._is_wanted = self._is_whole = False
        self._is_fresh, self._tokens = True, 0  # what it takes now is known with the next answer
        self.was_too_full |= event.reason == "overflow"

    def _apply_answer(self, event: ModelResponded) -> None:
        self._is_asked = self._is_fresh = False
        self._asking.clear()
        self._window = event.usage.window
        self._tokens = (event.usage.input or 0) + (event.usage.output or 0)
        self._signs = 0
