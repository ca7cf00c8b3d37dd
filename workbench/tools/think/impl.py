"""Answers a thought; it is in the log already."""

from __future__ import annotations

from workbench.tools.executor import ToolExecutor
from workbench.tools.think.definition import ThinkAction, ThinkObservation


class ThinkExecutor(ToolExecutor[ThinkAction, ThinkObservation]):
    """Does nothing."""

    def __call__(self, action: ThinkAction) -> ThinkObservation:
        """Always the same answer."""
        return ThinkObservation.from_text("Your thought has been logged.")
