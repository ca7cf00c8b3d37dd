"""What the messages of a session take, by part: each measured once, all again only after a summary; pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from workbench.llm.model import Message
from workbench.protocol.events import ActionObserved, ContextParts, Event, ModelResponded, ResourcesRead, UserMessage
from workbench.session.limits.limits import SIGNS_A_TOKEN
from workbench.session.mentions import told
from workbench.session.storage.words import observed_text
from workbench.session.turn.resources import told as resources_told


class PartCount:
    """Characters of what was said and of what tools answered; each message is measured once, when it comes."""

    def __init__(self, max_observe: int) -> None:
        self._max_observe = max_observe
        self._said = 0
        self._answered = 0

    def apply(self, event: Event) -> None:
        """Take in the next event; total: no order of events raises."""
        match event:
            case UserMessage():
                self._said += len(event.text) + len(told(event.attached))
            case ResourcesRead():
                self._said += len(resources_told(event.resources))
            case ModelResponded():
                self._said += len(event.text) + sum(len(call.name) + len(call.arguments) for call in event.tool_calls)
            case ActionObserved():
                self._answered += min(self._max_observe, len(observed_text(event.observation)))

    def recount(self, messages: Iterable[Message]) -> None:
        """Measure all that is left, after a part of the messages gave way to a summary."""
        sizes = {"said": 0, "answered": 0}
        for message in messages:
            sizes["answered" if message["role"] == "tool" else "said"] += _size(message)
        self._said, self._answered = sizes["said"], sizes["answered"]

    def parts(self, standing: tuple[int, int], counted: int | None) -> ContextParts:
        """The parts of a request with so many characters of instructions and of tools; `counted` is its tokens."""
        signs = (*standing, self._said, self._answered)
        share = counted / max(1, sum(signs)) if counted is not None else 1 / SIGNS_A_TOKEN
        system, tools, messages, _ = (round(each * share) for each in signs)
        rest = round(signs[3] * share) if counted is None else max(0, counted - system - tools - messages)
        return ContextParts(system=system, tools=tools, messages=messages, tool_output=rest)


def _size(message: Message) -> int:
    content = message.get("content")
    texts: list[Any] = content if isinstance(content, list) else [{"text": content or ""}]
    calls = (call["function"] for call in message.get("tool_calls", ()))
    said = sum(len(str(block.get("text", ""))) for block in texts)
    return said + sum(len(call["name"]) + len(call["arguments"]) for call in calls)
