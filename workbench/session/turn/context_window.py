"""The context of a model call: its messages, and how much of the context window they take."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

import msgspec

from workbench.llm.model import Message
from workbench.protocol.events import (
    ActionObserved,
    ActionProposed,
    CondensingAsked,
    CondensingUndone,
    Event,
    HistoryCondensed,
    ModelResponded,
    OutputDropped,
    ResourcesRead,
    SettingsChanged,
    UserMessage,
)
from workbench.protocol.usage import CHARACTERS_PER_TOKEN, ContextParts
from workbench.session.limits import Limits
from workbench.session.mentions import PendingResources, attached_size, attached_text, describe_resources
from workbench.session.state import assign
from workbench.session.storage.event_rows import observed_text
from workbench.session.turn.message_history import MessageHistory
from workbench.tools.request_condensation.definition import NAME

Reason: TypeAlias = Literal["asked", "person", "overflow", "tokens", "events"]


class ContextWindow(msgspec.Struct):
    """How full the model's context window is, and whether the history has to be condensed.

    Applying an event takes the same time however long the session is.
    """

    was_too_full: bool = False
    """Whether a request did not fit and the history was condensed for that, since the user's last message."""
    _requests: set[str] = msgspec.field(default_factory=set)
    """The action ids of the open calls of the tool with which the agent requests condensation."""
    _is_requested_by_agent: bool = False
    _is_requested_by_user: bool = False
    """Unlike the agent's request, the user's stays open when the model responds."""
    _is_fresh: bool = False
    _was_undone: bool = False
    """Whether the user has undone a condensation; then the limits of the settings do not cause another one."""
    _tokens: int = 0
    _characters: int = 0
    _reported_size: int | None = None

    @property
    def tokens(self) -> int:
        """An estimate of the tokens in the next request; 0 before the first response."""
        return max(0, self._tokens + self._characters // CHARACTERS_PER_TOKEN) if self._tokens else 0

    def size(self, limits: Limits) -> int | None:
        """Return the size of the window in tokens, from the limits or else as last reported; None if unknown."""
        return limits.context_window or self._reported_size

    def reason(self, limits: Limits, length: int) -> Reason | None:
        """Return why a history of `length` messages must be condensed before the next call, or None if it need not
        be.
        """
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
        """Apply the next event; never raises, whatever the order of events is."""
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
            case HistoryCondensed() | CondensingUndone() | OutputDropped():
                self._apply_condensation(event)

    def _apply_condensation(self, event: HistoryCondensed | CondensingUndone | OutputDropped) -> None:
        if isinstance(event, OutputDropped):
            self._characters -= event.characters
            return
        if isinstance(event, CondensingUndone):
            self._was_undone, self._is_fresh, self.was_too_full = True, False, False
            return
        self._is_requested_by_agent = self._is_requested_by_user = self._was_undone = False
        # the size of the remaining messages is reported with the next response
        self._is_fresh, self._tokens = True, 0
        self.was_too_full |= event.reason == "overflow"

    def _apply_answer(self, event: ModelResponded) -> None:
        self._is_requested_by_agent = self._is_fresh = False
        self._requests.clear()
        self._reported_size = event.usage.window
        self._tokens = (event.usage.input or 0) + (event.usage.output or 0)
        self._characters = 0


def _sent(size: int, limit: int) -> int:
    return min(size, limit) if limit else size


class PartCount(msgspec.Struct):
    """The characters of messages, attached files and tool results; each message is measured once, when it is added."""

    max_observe: int
    _messages: int = 0
    _files: int = 0
    _results: int = 0

    def apply(self, event: Event) -> None:
        """Apply the next event; never raises, whatever the order of events is."""
        match event:
            case UserMessage():
                self._messages += len(event.text)
                self._files += len(attached_text(event.attached))
            case ResourcesRead():
                self._files += len(describe_resources(event.resources))
            case ModelResponded():
                self._messages += len(event.text) + sum(
                    len(call.name) + len(call.arguments) for call in event.tool_calls
                )
            case ActionObserved():
                self._results += _sent(len(observed_text(event.observation)), self.max_observe)

    def recount(self, messages: Iterable[Message]) -> None:
        """Measure all messages again, because a summary or a notice has replaced some of them, or was removed again."""
        self._messages = self._files = self._results = 0
        for message in messages:
            if message["role"] == "tool":
                self._results += _size(message)
            else:
                files = sum(map(attached_size, _strings(message))) if message["role"] == "user" else 0
                self._files += files
                self._messages += _size(message) - files

    def parts(self, standing: tuple[int, int], tokens: int | None) -> ContextParts:
        """Return how many tokens each part of a request takes.

        `standing` is the number of characters in the instructions and in the tool descriptions; `tokens` is the total
        that the provider reported, or None to estimate from the characters alone.
        """
        characters = (*standing, self._messages, self._files, self._results)
        share = tokens / max(1, sum(characters)) if tokens is not None else 1 / CHARACTERS_PER_TOKEN
        system, tools, messages, files, results = (round(each * share) for each in characters)
        rest = results if tokens is None else max(0, tokens - system - tools - messages - files)
        return ContextParts(system=system, tools=tools, messages=messages, files=files, tool_output=rest)


def _size(message: Message) -> int:
    calls = (call["function"] for call in message.get("tool_calls", ()))
    return sum(map(len, _strings(message))) + sum(len(call["name"]) + len(call["arguments"]) for call in calls)


def _strings(message: Message) -> list[str]:
    content = message.get("content")
    blocks: list[Any] = content if isinstance(content, list) else [{"text": content or ""}]
    return [str(block.get("text", "")) for block in blocks]


class ModelContext:
    """The context of model calls: the messages, how full the window is, and the resources still to be read."""

    def __init__(self, max_observe: int) -> None:
        """`max_observe` is the most characters of one result that are sent to the model; 0 means no limit."""
        self._max_observe = max_observe
        self.history = MessageHistory(max_observe)
        self.window = ContextWindow()
        self.pending = PendingResources()
        self.sizes = PartCount(max_observe)

    def restart(self) -> None:
        """Reset everything to the state before the first event."""
        assign(self.history, MessageHistory(self._max_observe))
        assign(self.window, ContextWindow())
        assign(self.pending, PendingResources())
        assign(self.sizes, PartCount(self._max_observe))

    def apply(self, event: Event) -> None:
        """Apply the next event; never raises, whatever the order of events is."""
        self.history.apply(event)
        if event.kind == "action_decided":  # changes nothing in the parts below, and every action has one
            return
        self.window.apply(event)
        self.pending.apply(event)
        self.sizes.apply(event)
        if event.kind in ("history_condensed", "condensing_undone", "output_dropped"):
            self.sizes.recount(self.history.tagged.messages)

    def parts(self, standing: tuple[int, int], tokens: int | None) -> ContextParts:
        """Return an estimate of the tokens in each part of the next request; for the parameters see
        `PartCount.parts`.
        """
        return self.sizes.parts(standing, tokens)
