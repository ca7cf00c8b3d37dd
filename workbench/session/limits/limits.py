"""Where a run stops by itself: steps, tokens and dollars it may take, and what of a result is sent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from workbench.config.settings import Settings
from workbench.protocol.events import (
    ActionObserved,
    DelegateStep,
    Event,
    HistoryCondensed,
    ModelAsked,
    ModelResponded,
    RunEnded,
    UserMessage,
)
from workbench.session.state import Ledger
from workbench.session.storage.words import observed_text
from workbench.session.turn.history import MAX_OBSERVE

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
    max_cost: float = 0.0
    """US dollars of one run; 0 is no limit."""
    stop_loops: bool = True
    """Whether a run that goes in circles is paused."""
    condense_percent: int = 80
    """The history is condensed when it takes more of the model's window; 0 is never."""
    condense_events: int = 500
    """The history is condensed when it is sent as more messages (each answer and result is one); 0 is never."""
    context_window: int = 0
    """Tokens of the model's window; 0 is what is known of the model."""

    above: Callable[[], str] | None = None
    """Of a sub-agent: the limit that the run it works for has reached, if any; its tokens and dollars count there."""

    def reached(self, ledger: Ledger, tokens: TokenCount) -> RunEnded | None:
        """The end of the run when it may not call the model again; a message begins a new run."""
        over = self.above() if self.above else ""
        said = f"the run it works for {over}" if over else self.over(ledger, tokens)
        return RunEnded(reason="limit", detail=f"{said}; send a message to go on") if said else None

    def over(self, ledger: Ledger, tokens: TokenCount) -> str:
        """The limit that is reached, in words; empty when there is none."""
        if self.steps_left(ledger) <= 0:
            return f"paused after {ledger.steps} calls of the model (max_steps)"
        if self.token_limit and tokens.spent >= self.token_limit:
            about = "about " if tokens.is_estimate else ""
            return f"paused after {about}{tokens.spent:,} tokens (token_limit {self.token_limit:,})"
        if self.max_cost and tokens.cost >= self.max_cost:
            return f"paused after {dollars(tokens.cost)} (max_cost {dollars(self.max_cost)})"
        if self.max_cost and tokens.unpriced and not tokens.went_on_unpriced:
            return f"paused: what {tokens.unpriced} costs is not known, so max_cost cannot be held"
        return ""

    def steps_left(self, ledger: Ledger) -> int:
        """How many calls of the model the run may still make."""
        return (ledger.max_steps or self.max_steps) - ledger.steps


USUAL_LIMITS = Limits()


def limits_of(settings: Settings, *, knows_windows: bool) -> Limits:
    """What the settings say; the window set there counts where no model is known to have one of its own."""
    return Limits(
        max_steps=settings.max_steps,
        max_observe=settings.max_observe,
        token_limit=settings.token_limit,
        max_cost=settings.max_cost,
        stop_loops=settings.stop_loops,
        condense_percent=settings.condense_percent,
        condense_events=settings.condense_events,
        context_window=0 if knows_windows else settings.context_window,
    )


def dollars(amount: float) -> str:
    """An amount as people write it; small ones with the digits that say something."""
    return f"${amount:.2f}" if amount >= 1 or round(amount, 2) == round(amount, 4) else f"${amount:.4f}"


class TokenCount:
    """The tokens of the run, event by event; estimated from the characters where the provider does not say."""

    def __init__(self) -> None:
        self.spent = 0
        self.is_estimate = False
        self.cost = 0.0
        """US dollars of the run, as far as prices are known."""
        self.unpriced = ""
        """A model of the run whose price is not known."""
        self.went_on_unpriced = False
        """Whether the person sent a message after a pause because of that."""
        self._signs = 0
        self._is_running = False

    def apply(self, event: Event) -> None:
        """Take in the next event."""
        match event:
            case UserMessage():
                if not self._is_running:
                    self._begin()
                self._signs += len(event.text)
            case ModelResponded():
                self._apply_answer(event)
            case ActionObserved():
                self._signs += len(observed_text(event.observation))
            case HistoryCondensed():
                self._apply_beside(event)
                self._signs //= 2
            case ModelAsked() | DelegateStep():
                self._apply_beside(event.event if isinstance(event, DelegateStep) else event)
            case RunEnded():
                self._is_running = False
                self.went_on_unpriced |= bool(self.unpriced) and event.reason == "limit"

    def _apply_beside(self, event: Event) -> None:
        """What summaries, tools and sub-agents spend counts too."""
        if isinstance(event, ModelResponded | HistoryCondensed | ModelAsked):
            self.spent += (event.usage.input or 0) + (event.usage.output or 0)
            self.cost += event.cost or 0.0
            if event.cost is None:
                self.unpriced = event.model or "the model of a summary"

    def _begin(self) -> None:
        """A message of the person's begins a run."""
        self.spent, self.is_estimate = 0, False
        self.cost, self.unpriced = 0.0, ""
        self._is_running = True

    def _apply_answer(self, event: ModelResponded) -> None:
        self.cost += event.cost or 0.0
        if event.cost is None:
            self.unpriced = event.model
        written = len(event.text) + sum(len(call.arguments) for call in event.tool_calls)
        given, made = event.usage.input, event.usage.output
        self.is_estimate = self.is_estimate or given is None or made is None
        self.spent += self._signs // SIGNS_A_TOKEN if given is None else given
        self.spent += (written + len(event.reasoning)) // SIGNS_A_TOKEN if made is None else made
        self._signs += written
