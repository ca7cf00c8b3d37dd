"""Where a run stops by itself: how many calls of the model and tokens it may take, and what of a result is sent."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.session.events import ActionObserved, Event, HistoryCondensed, ModelResponded, RunEnded, UserMessage
from workbench.session.history import MAX_OBSERVE
from workbench.session.ledger import Ledger
from workbench.session.words import observed_text

SIGNS_A_TOKEN = 4
"""For estimates where nobody counts: characters."""


@dataclass(frozen=True)
class Limits:
    """The limits of a session's runs, as its settings say."""

    max_steps: int = 100
    """Calls of the model in one run."""
    max_observe: int = MAX_OBSERVE
    """Characters of one observation that reach the model."""
    token_limit: int = 0
    """Tokens of one run, in and out; 0 is no limit."""
    stop_loops: bool = True
    """Whether a run that goes in circles is paused."""
    condense_percent: int = 80
    """The history is condensed when it takes more of the model's window; 0 is never."""
    condense_events: int = 500
    """The history is condensed when it is sent as more messages (each answer and result is one); 0 is never."""
    context_window: int = 0
    """Tokens of the model's window; 0 is what is known of the model."""

    def reached(self, ledger: Ledger, tokens: TokenCount) -> RunEnded | None:
        """The end of the run when it may not call the model again; a message begins a new run."""
        most = ledger.max_steps or self.max_steps
        if ledger.steps >= most:
            said = f"paused after {ledger.steps} calls of the model (max_steps)"
        elif self.token_limit and tokens.spent >= self.token_limit:
            about = "about " if tokens.is_estimate else ""
            said = f"paused after {about}{tokens.spent:,} tokens (token_limit {self.token_limit:,})"
        else:
            return None
        return RunEnded(reason="limit", detail=f"{said}; send a message to go on")


USUAL_LIMITS = Limits()


class TokenCount:
    """The tokens of the run, event by event; estimated from the characters where the provider does not say."""

    def __init__(self) -> None:
        self.spent = 0
        self.is_estimate = False
        self._signs = 0
        self._is_running = False

    def apply(self, event: Event) -> None:
        """Take in the next event."""
        match event:
            case UserMessage():
                if not self._is_running:
                    self.spent, self.is_estimate = 0, False
                self._is_running = True
                self._signs += len(event.text)
            case ModelResponded():
                self._apply_answer(event)
            case ActionObserved():
                self._signs += len(observed_text(event.observation))
            case HistoryCondensed():
                self.spent += (event.usage.input or 0) + (event.usage.output or 0)
                self._signs //= 2
            case RunEnded():
                self._is_running = False

    def _apply_answer(self, event: ModelResponded) -> None:
        written = len(event.text) + sum(len(call.arguments) for call in event.tool_calls)
        given, made = event.usage.input, event.usage.output
        self.is_estimate = self.is_estimate or given is None or made is None
        self.spent += self._signs // SIGNS_A_TOKEN if given is None else given
        self.spent += (written + len(event.reasoning)) // SIGNS_A_TOKEN if made is None else made
        self._signs += written
