"""The conversation with the model: its messages, how much of the context window they take, and condensing them.

Condensing replaces the middle of the messages by a summary that the model writes; the log keeps everything. It takes
the place of one ordinary call of the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from typing import Any, Literal, TypeAlias

from workbench.agent.condenser import summary_of, summary_request
from workbench.llm.model import Cancel, ContextOverflow, Delta, Message, Model, ModelError, ModelResponse
from workbench.protocol.events import (
    ActionObserved,
    ActionProposed,
    CondensingAsked,
    CondensingUndone,
    ContextParts,
    Event,
    HistoryCondensed,
    ModelResponded,
    ResourcesRead,
    SettingsChanged,
    Usage,
    UserMessage,
)
from workbench.protocol.live import EngineState, LiveEvent
from workbench.session.actions.decide import CommandError
from workbench.session.limits import CHARACTERS_PER_TOKEN, Limits
from workbench.session.log import Log
from workbench.session.mentions import PendingResources, attached_text, describe_resources
from workbench.session.storage.rows import observed_text
from workbench.session.turn.history import MessageHistory
from workbench.session.worker_thread import Job, WorkerThread, run
from workbench.tools.request_condensation.definition import NAME

Reason: TypeAlias = Literal["asked", "person", "overflow", "tokens", "events"]


class ContextWindow:
    """How full the context window of the model is, and whether the history has to be condensed.

    Every event costs the same, however long the session is.
    """

    def __init__(self) -> None:
        self.was_too_full = False
        """Whether the history was condensed for a full window since the last message of the user."""
        self._requests: set[str] = set()  # open calls of the tool that requests condensing
        self._is_requested_by_agent = False
        # no response of the model cancels what the user requested
        self._is_requested_by_user = False
        self._is_fresh = False
        # the user undid a condensing: no limit of the settings may repeat it
        self._was_undone = False
        self._tokens = 0
        self._characters = 0
        self._reported_size: int | None = None

    @property
    def tokens(self) -> int:
        """An estimate of the tokens of the next request; 0 before the first response."""
        return self._tokens + self._characters // CHARACTERS_PER_TOKEN if self._tokens else 0

    def size(self, limits: Limits) -> int | None:
        """Return the size of the window in tokens: from the limits, else as last reported; None if unknown."""
        return limits.context_window or self._reported_size

    def reason(self, limits: Limits, length: int) -> Reason | None:
        """Return why a history of `length` messages must be condensed before the next call; None if it need not be."""
        if self._is_requested_by_user:
            return "person"
        if self._is_fresh:
            return None
        if self._is_requested_by_agent:
            return "asked"
        if self._was_undone:
            return None
        if limits.condense_events and length > limits.condense_events:
            return "events"
        full = (self.size(limits) or 0) * limits.condense_percent / 100
        return "tokens" if full and self.tokens > full else None

    def apply(self, event: Event) -> None:
        """Consume the next event; never raises, whatever the order of events is."""
        match event:
            case UserMessage():
                self.was_too_full = False
                self._characters += len(event.text)
            case ModelResponded():
                self._apply_answer(event)
            case SettingsChanged() if event.model:
                self._reported_size = None
            case ActionProposed() if event.tool == NAME and not event.error:
                self._requests.add(event.action_id)
            case ActionObserved():
                self._characters += len(observed_text(event.observation))
                self._is_requested_by_agent |= event.action_id in self._requests and event.ran
            case CondensingAsked():
                self._is_requested_by_user = True
            case HistoryCondensed() | CondensingUndone():
                self._apply_condensing(event)

    def _apply_condensing(self, event: HistoryCondensed | CondensingUndone) -> None:
        if isinstance(event, CondensingUndone):
            self._was_undone, self._is_fresh, self.was_too_full = True, False, False
            return
        self._is_requested_by_agent = self._is_requested_by_user = self._was_undone = False
        # the size of what remains is reported with the next response
        self._is_fresh, self._tokens = True, 0
        self.was_too_full |= event.reason == "overflow"

    def _apply_answer(self, event: ModelResponded) -> None:
        self._is_requested_by_agent = self._is_fresh = False
        self._requests.clear()
        self._reported_size = event.usage.window
        self._tokens = (event.usage.input or 0) + (event.usage.output or 0)
        self._characters = 0


class PartCount:
    """Counts the characters of messages and of tool results; each is measured once, when it is added."""

    def __init__(self, max_observe: int) -> None:
        self._max_observe = max_observe
        self._messages = 0
        self._results = 0

    def apply(self, event: Event) -> None:
        """Consume the next event; never raises, whatever the order of events is."""
        match event:
            case UserMessage():
                self._messages += len(event.text) + len(attached_text(event.attached))
            case ResourcesRead():
                self._messages += len(describe_resources(event.resources))
            case ModelResponded():
                self._messages += len(event.text) + sum(
                    len(call.name) + len(call.arguments) for call in event.tool_calls
                )
            case ActionObserved():
                self._results += min(self._max_observe, len(observed_text(event.observation)))

    def recount(self, messages: Iterable[Message]) -> None:
        """Measure all messages again, after some were replaced by a summary."""
        sizes = {"messages": 0, "results": 0}
        for message in messages:
            sizes["results" if message["role"] == "tool" else "messages"] += _size(message)
        self._messages, self._results = sizes["messages"], sizes["results"]

    def parts(self, standing: tuple[int, int], tokens: int | None) -> ContextParts:
        """Return the tokens of each part of a request.

        `standing` holds the characters of the instructions and of the tool descriptions; `tokens` is the provider's
        total.
        """
        characters = (*standing, self._messages, self._results)
        share = tokens / max(1, sum(characters)) if tokens is not None else 1 / CHARACTERS_PER_TOKEN
        system, tools, messages, _ = (round(each * share) for each in characters)
        rest = round(characters[3] * share) if tokens is None else max(0, tokens - system - tools - messages)
        return ContextParts(system=system, tools=tools, messages=messages, tool_output=rest)


def _size(message: Message) -> int:
    content = message.get("content")
    blocks: list[Any] = content if isinstance(content, list) else [{"text": content or ""}]
    calls = (call["function"] for call in message.get("tool_calls", ()))
    text = sum(len(str(block.get("text", ""))) for block in blocks)
    return text + sum(len(call["name"]) + len(call["arguments"]) for call in calls)


class ModelContext:
    """What is sent to the model: the messages, how full the window is, and the resources still to be read."""

    def __init__(self, max_observe: int) -> None:
        """`max_observe` is the most characters of one result that are sent."""
        self.history = MessageHistory(max_observe)
        self.window = ContextWindow()
        self.pending = PendingResources()
        self._sizes = PartCount(max_observe)

    def apply(self, event: Event) -> None:
        """Consume the next event; never raises, whatever the order of events is."""
        self.history.apply(event)
        if event.kind == "action_decided":  # changes nothing in the others, and every action has one
            return
        self.window.apply(event)
        self.pending.apply(event)
        self._sizes.apply(event)
        if event.kind in ("history_condensed", "condensing_undone"):
            self._sizes.recount(self.history.sent)

    def parts(self, standing: tuple[int, int], tokens: int | None) -> ContextParts:
        """Return what each part of the next request takes; see PartCount."""
        return self._sizes.parts(standing, tokens)


GRACE = 0.5
"""Seconds that an interrupted call of a model may take to end."""
_LONGEST_RECORDS = (200_000, 60_000, 15_000)
"""Characters of the record to summarise; if one length does not fit, the next shorter one is tried."""
NOTHING_TO_CONDENSE = "there is nothing to compact yet: the history is short"
NOTHING_TO_UNDO = "there is no compaction to undo"
_NOTHING = "the model wrote no summary of the history; send a message to try again, or choose another model"
_STILL_FULL = (
    "the request is larger than the model's window, also after the history was condensed; send a message to condense "
    "it once more, or choose a model with a larger window"
)


class Condenser:
    """Condenses one conversation; raises ModelError if the model fails, CallAbandoned if a call hangs."""

    def __init__(
        self,
        log: Log,
        context: ModelContext,
        limits: Limits,
        thread: WorkerThread,
        on_live: Callable[[LiveEvent], None],
    ) -> None:
        self._log = log
        self._context = context
        self._limits = limits
        self._thread = thread
        self._on_live = on_live

    def before_call(self, model: Model, cancel: Cancel) -> bool:
        """Condense if it is time to; return whether that took the place of the call."""
        with self._log.lock:
            reason = self._context.window.reason(self._limits, self._context.history.length)
        return reason is not None and self._condense(model, reason, cancel)

    def after_overflow(self, model: Model, cancel: Cancel) -> bool:
        """Condense because the request did not fit, at most once per user message; return whether it was possible.

        Raises ContextOverflow the second time.
        """
        if self._context.window.was_too_full:
            raise ContextOverflow(_STILL_FULL)
        return self._condense(model, "overflow", cancel)

    def _condense(self, model: Model, reason: Reason, cancel: Cancel) -> bool:
        with self._log.lock:
            part = self._context.history.condensable
            size = self._context.window.size(self._limits)
        if part is None:
            return False
        self._show(f"compacting the history: summarizing {len(part.messages)} messages")
        limit = size * CHARACTERS_PER_TOKEN // 2 if size else _LONGEST_RECORDS[0]
        job = Job(self._thread, lambda: self._summarised(model, part.messages, limit, cancel))
        response = run(job, cancel, GRACE)
        if cancel.is_set:
            return True
        summary = summary_of(response)
        if not summary:
            raise ModelError(_NOTHING)
        event = HistoryCondensed(
            first=part.first,
            last=part.last,
            summary=summary,
            reason=reason,
            model=response.model,
            usage=Usage(**asdict(response.usage)),
            cost=response.cost,
            latency=response.latency,
        )
        self._log.commit(event, happened=True)
        self._show("")
        return True

    def _summarised(self, model: Model, messages: Sequence[Message], limit: int, cancel: Cancel) -> ModelResponse:
        for length in _LONGEST_RECORDS[:-1]:
            if length <= limit:
                try:
                    return model.respond(summary_request(messages, length), self._on_delta, cancel)
                except ContextOverflow:
                    continue
        return model.respond(summary_request(messages, _LONGEST_RECORDS[-1]), self._on_delta, cancel)

    def _on_delta(self, delta: Delta) -> None:
        """Show retries and waits at once; the summary is shown when it is complete."""
        if delta.kind == "status":
            self._show(delta.text)

    def _show(self, detail: str) -> None:
        self._on_live(EngineState(state="thinking", detail=detail, queued=self._log.state.queued))


def condensing_request(history: MessageHistory, *, undo: bool) -> CondensingAsked | CondensingUndone:
    """Return the event that requests condensing or undoes the last one; raises CommandError if impossible."""
    if undo:
        last = history.last_condensing
        if last is None:
            raise CommandError(NOTHING_TO_UNDO)
        return CondensingUndone(condensed=last.seq, first=last.first, last=last.last)
    if history.condensable is None:
        raise CommandError(NOTHING_TO_CONDENSE)
    return CondensingAsked()
