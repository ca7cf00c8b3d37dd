"""Gives tools back what they answered earlier, when a session is opened again: the log is the only place it is kept."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from workbench.protocol.events import ActionObserved, ActionProposed, Event, ModelResponded
from workbench.tools.executor import ToolExecutor
from workbench.tools.tool import ToolDefinition

logger = logging.getLogger(__name__)


class Recall:
    """Reads the past of a session once, for the tools that want to know it."""

    def __init__(self, tools: Mapping[str, ToolDefinition]) -> None:
        self._wanted: dict[str, Callable[[dict[str, Any]], None]] = {
            name: tool.executor.recall
            for name, tool in tools.items()
            if tool.executor is not None and type(tool.executor).recall is not ToolExecutor.recall
        }
        self._open: dict[str, str] = {}  # action id -> tool

    def apply(self, event: Event) -> None:
        """Take in the next event of the past; a tool that fails at it is logged and goes on without."""
        match event:
            case ModelResponded():
                self._open = {}
            case ActionProposed() if event.tool in self._wanted:
                self._open[event.action_id] = event.tool
            case ActionObserved() if event.ran and event.action_id in self._open:
                self._give(self._open.pop(event.action_id), event.observation)

    def _give(self, tool: str, observation: dict[str, Any]) -> None:
        try:
            self._wanted[tool](observation)
        except Exception:
            logger.exception("the tool %s could not take up what it answered earlier", tool)
