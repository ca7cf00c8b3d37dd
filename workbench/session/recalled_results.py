"""Passes the past results of a session back to the tools that recall them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Self

import msgspec

from workbench.protocol.events import ActionObserved, ActionProposed, Event, ModelResponded
from workbench.tools.executor import ToolExecutor
from workbench.tools.tool import ToolDefinition

logger = logging.getLogger(__name__)


class RecalledResults(msgspec.Struct):
    """The numbers of the events whose results the session's tools need after a restart."""

    tools: dict[str, bool]
    """By name of each tool that recalls results: whether its last result is enough."""
    seqs: dict[str, list[int]] = msgspec.field(default_factory=dict)
    """The numbers of the events, by tool."""
    _open: dict[str, str] = msgspec.field(default_factory=dict)
    """The tools of open actions, by action id."""

    @classmethod
    def of(cls, tools: Mapping[str, ToolDefinition]) -> Self:
        """Return an empty record for the tools that implement `recall`."""
        executors = {name: tool.executor for name, tool in tools.items() if tool.executor is not None}
        recalled = {
            name: executor.recalls_last
            for name, executor in executors.items()
            if type(executor).recall is not ToolExecutor.recall
        }
        return cls(recalled)

    def restart(self) -> None:
        """Reset to the state before the first event."""
        self.seqs.clear()
        self._open.clear()

    def apply(self, event: Event) -> None:
        """Consume the next event; never raises, whatever the order of events is."""
        match event:
            case ModelResponded():
                self._open = {}
            case ActionProposed() if event.tool in self.tools:
                self._open[event.action_id] = event.tool
            case ActionObserved() if event.ran and event.action_id in self._open:
                tool = self._open.pop(event.action_id)
                seqs = self.seqs.setdefault(tool, [])
                if self.tools[tool]:
                    seqs.clear()
                seqs.append(event.seq)

    def recall(self, tools: Mapping[str, ToolDefinition], observed: Callable[[int], Iterable[Event]]) -> None:
        """Pass the results to the tools, in order; `observed` yields the event with a number, or nothing if it is
        damaged.

        If a tool fails on a result, that is logged and the tool continues without it.
        """
        for name, seqs in self.seqs.items():
            executor = tools[name].executor
            for event in (event for seq in seqs for event in observed(seq)):
                try:
                    if executor is not None and isinstance(event, ActionObserved):
                        executor.recall(event.observation)
                except Exception:
                    logger.exception("the tool %s could not take up what it answered earlier", name)
