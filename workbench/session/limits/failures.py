"""How each tool failed last, kept up event by event from the log, so that a failure that repeats gets advice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec.structs

from workbench.agent.advice import ADVICE, advice_on
from workbench.agent.stuck import result_key
from workbench.protocol.events import ActionAbandoned, ActionObserved, ActionProposed, Event, ModelResponded
from workbench.session.storage.words import observed_text
from workbench.tools.tool import ToolDefinition


def plain_text(observation: dict[str, Any]) -> str:
    """The text of a result without the advice that was added to it."""
    return observed_text(observation).partition(f"\n{ADVICE}")[0]


class Failures:
    """The last failure of each tool since it worked."""

    def __init__(self) -> None:
        self._open: dict[str, str] = {}  # action id -> tool
        self._last: dict[str, str] = {}  # tool -> its error, canonical

    def apply(self, event: Event) -> None:
        """Take in the next event; total: no order of events raises."""
        match event:
            case ModelResponded():
                self._open = {}
            case ActionProposed():
                self._open[event.action_id] = event.tool
            case ActionAbandoned():
                self._open.pop(event.action_id, None)
            case ActionObserved() if event.action_id in self._open:
                tool = self._open.pop(event.action_id)
                self._last.pop(tool, None)
                if event.observation.get("is_error"):
                    self._last[tool] = result_key(plain_text(event.observation))

    def advised(
        self, proposed: ActionProposed, result: ActionObserved, tools: Mapping[str, ToolDefinition]
    ) -> ActionObserved:
        """The result; with a line of advice when the tool failed in the same way the last time."""
        seen = result.observation
        if not seen.get("is_error") or self._last.get(proposed.tool) != result_key(plain_text(seen)):
            return result
        is_known = proposed.tool in tools
        was_read = bool(proposed.arguments) or not proposed.error
        if is_known and not was_read and "JSON" not in proposed.error:
            return result  # it was cut off or refused: that says nothing of its arguments
        line = advice_on(proposed.tool, proposed.arguments, tools, was_read)
        content = [*seen.get("content", ()), {"type": "text", "text": line}]
        return msgspec.structs.replace(result, observation={**seen, "content": content})
