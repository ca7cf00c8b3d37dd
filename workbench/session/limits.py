"""The limits at which a run stops on its own: steps, tokens, dollars, repetition and unreadable responses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from workbench.agent.loop_detection import Loop
from workbench.config.settings import Settings
from workbench.llm.model import ToolChoice
from workbench.protocol.events import (
    ActionObserved,
    AgentNudged,
    DelegateStep,
    Event,
    Forked,
    HistoryCondensed,
    ModelAsked,
    ModelResponded,
    Rewound,
    RunEnded,
    UserMessage,
)
from workbench.protocol.usage import CHARACTERS_PER_TOKEN
from workbench.session.loop_watch import LoopWatch
from workbench.session.state import State
from workbench.session.storage.event_rows import observed_text
from workbench.text import counted

MAX_OBSERVE = 30_000
"""The most characters of one observation that are sent to the model."""


@dataclass(frozen=True)
class Limits:
    """The limits of a session's runs, taken from its settings."""

    max_steps: int = 100
    """The most model calls in one run."""
    max_observe: int = MAX_OBSERVE
    """The most characters of one observation that are sent to the model; 0 means no limit."""
    token_limit: int = 0
    """The most tokens in one run, input and output; 0 means no limit."""
    max_cost: float = 0.0
    """The most US dollars that one run may cost; 0 means no limit."""
    stop_loops: bool = True
    """Whether a run in which the agent repeats itself is paused."""
    condense_percent: int = 80
    """The history is condensed if it takes more than this percentage of the model's context window; 0 means never."""
    condense_events: int = 500
    """The history is condensed if it has more messages than this (each response and each result is one); 0 means never.
    """
    context_window: int = 0
    """The size of the model's context window in tokens; 0 means the size known for the model."""

    above: Callable[[], str] | None = None
    """For a sub-agent only: returns the limit that its parent's run has reached, or "". Its spending counts toward that
    run.
    """

    def reached(self, state: State, tokens: TokenCount) -> RunEnded | None:
        """Return the event that ends the run if a limit is reached, else None; the user's next message begins a new
        run.
        """
        over = self.above() if self.above else ""
        reason = f"its parent run {over}" if over else self.over(state, tokens)
        return RunEnded(reason="limit", detail=f"{reason}. Send a message to continue") if reason else None

    def over(self, state: State, tokens: TokenCount) -> str:
        """Return why the limits pause the run; empty if they do not."""
        if self.remaining_steps(state) <= 0:
            return f"paused after {counted(state.steps, 'model call')} (max_steps)"
        if self.token_limit and tokens.spent >= self.token_limit:
            about = "about " if tokens.is_estimate else ""
            return f"paused after {about}{tokens.spent:,} tokens (token_limit {self.token_limit:,})"
        if self.max_cost and tokens.cost >= self.max_cost:
            return f"paused after {dollars(tokens.cost)} (max_cost {dollars(self.max_cost)})"
        if self.max_cost and tokens.unpriced and not tokens.went_on_unpriced:
            return f"paused: no price known for {tokens.unpriced}, so max_cost cannot be enforced"
        return ""

    def remaining_steps(self, state: State) -> int:
        """Return how many more model calls the run may make."""
        return (state.max_steps or self.max_steps) - state.steps


USUAL_LIMITS = Limits()


def limits_of(settings: Settings, *, knows_windows: bool) -> Limits:
    """Return the limits in the settings, without their context window if the saved models set their own."""
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
    """Format an amount in US dollars: with two decimals, or four if an amount below 1 needs them."""
    return f"${amount:.2f}" if amount >= 1 or round(amount, 2) == round(amount, 4) else f"${amount:.4f}"


class TokenCount(msgspec.Struct):
    """Counts the tokens and cost of a run, event by event; tokens that the provider does not report are estimated."""

    spent: int = 0
    is_estimate: bool = False
    cost: float = 0.0
    """US dollars spent in the run, as far as prices are known."""
    unpriced: str = ""
    """A model used in the run whose price is unknown; empty if all prices are known."""
    went_on_unpriced: bool = False
    """Whether a run has ended at a limit while a price was unknown; unknown prices do not end further runs."""
    _characters: int = 0
    _is_running: bool = False

    def apply(self, event: Event) -> None:
        """Count the next event."""
        match event:
            case UserMessage():
                if not self._is_running:
                    self._begin()
                self._characters += len(event.text)
            case ModelResponded():
                self._apply_answer(event)
            case ActionObserved():
                self._characters += len(observed_text(event.observation))
            case HistoryCondensed():
                self._apply_beside(event)
                self._characters //= 2
            case ModelAsked() | DelegateStep():
                self._apply_beside(event.event if isinstance(event, DelegateStep) else event)
            case RunEnded() | Rewound() | Forked(keeps_run=False):
                self._is_running = False
                is_limit = isinstance(event, RunEnded) and event.reason == "limit"
                self.went_on_unpriced |= bool(self.unpriced) and is_limit

    def _apply_beside(self, event: Event) -> None:
        """Add the tokens and cost of a call that is not the session's own next step: of summaries, tools and
        sub-agents.
        """
        if isinstance(event, ModelResponded | HistoryCondensed | ModelAsked):
            self.spent += (event.usage.input or 0) + (event.usage.output or 0)
            self.cost += event.cost or 0.0
            if event.cost is None:
                self.unpriced = event.model or "the model of a summary"

    def _begin(self) -> None:
        """Start a new run, because the user sent a message."""
        self.spent, self.is_estimate = 0, False
        self.cost, self.unpriced = 0.0, ""
        self._is_running = True

    def _apply_answer(self, event: ModelResponded) -> None:
        self.cost += event.cost or 0.0
        if event.cost is None:
            self.unpriced = event.model
        written = len(event.text) + sum(len(call.arguments) for call in event.tool_calls)
        tokens_in, tokens_out = event.usage.input, event.usage.output
        self.is_estimate = self.is_estimate or tokens_in is None or tokens_out is None
        self.spent += self._characters // CHARACTERS_PER_TOKEN if tokens_in is None else tokens_in
        self.spent += (written + len(event.reasoning)) // CHARACTERS_PER_TOKEN if tokens_out is None else tokens_out
        self._characters += written


MANY = 3
UNREADABLE = f"{MANY} malformed tool calls in a row; tell the agent how to proceed"
NO_TOOLS = "tools are switched off (tool_choice is none). Answer as text."
_BROKEN = "the answer broke off before its end. Send a message to continue"
_EMPTY = "the model gave an empty answer twice; send a message, or choose another model"
_TOO_LONG = "the answer hit its length limit. Send a message to continue"
_WITHHELD = "the provider's content filter ended the answer{}; put the request in other words, or choose another model"
_AFTER_NOTHING = (
    "Your last answer was empty. Continue the task, answer as text, or call finish when everything is done."
)
_AFTER_WORDS = (
    "Your last answer called no tool, but every answer must call one. Call the tool that advances the task, or "
    "finish when everything is done. If no tool fits, write why."
)


def before_call(state: State, limits: Limits, tokens: TokenCount, loops: LoopWatch) -> list[Event]:
    """Return the events to record before the next model call; with a RunEnded among them, the call is not made."""
    end = limits.reached(state, tokens)
    if end is not None:
        return [end]
    loop = loops.loop if limits.stop_loops else None
    if loop is None:
        return []
    return [_stuck(loop) if loops.was_nudged(loop) else _nudged(loop)]


def _nudged(loop: Loop) -> AgentNudged:
    text = (
        f"You seem to be stuck in a loop: {loop.evidence}. Repeating it will not help. Say what you expected and what "
        "happened instead, look at the state in another way, then try another approach; if you know none, say so."
    )
    return AgentNudged(reason="stuck", text=text, evidence=loop.evidence)


def _stuck(loop: Loop) -> RunEnded:
    return RunEnded(reason="stuck", detail=f"{loop.evidence}; tell the agent what to do differently")


def after_words(state: State, answer: ModelResponded, choice: ToolChoice) -> list[Event]:
    """Return the events after a response without tool calls: usually a RunEnded that waits for the user.

    There are none if the user has sent a message in the meantime: the run continues with it.
    """
    if answer.incomplete:
        return [RunEnded(reason="error", detail=_BROKEN)]
    if any(seq > (answer.seen or 0) for seq in state.unread):
        return []
    if answer.finish_reason == "content_filter":
        return [_withheld(bool(answer.text.strip()))]
    if not answer.text.strip():
        end = RunEnded(reason="error", detail=_EMPTY)
        return [end if "empty" in state.nudged else AgentNudged(reason="empty", text=_AFTER_NOTHING)]
    is_cut = answer.finish_reason == "length"
    if choice == "required" and not is_cut and "no_call" not in state.nudged:
        return [AgentNudged(reason="no_call", text=_AFTER_WORDS)]
    return [RunEnded(reason="waiting", detail=_TOO_LONG if is_cut else "")]


def _withheld(has_words: bool) -> RunEnded:
    """Return the end of a run because the provider withheld the response, entirely or in part."""
    if has_words:
        return RunEnded(reason="waiting", detail=_WITHHELD.format(" before it was complete"))
    return RunEnded(reason="error", detail=_WITHHELD.format(" before its first word"))
