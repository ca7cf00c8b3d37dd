"""Answers the final message with itself; whoever runs the tool ends the run."""

from __future__ import annotations

from workbench.tools.executor import ToolExecutor
from workbench.tools.finish.definition import FinishAction, FinishObservation


class FinishExecutor(ToolExecutor[FinishAction, FinishObservation]):
    """Gives the message back as the result."""

    def __call__(self, action: FinishAction) -> FinishObservation:
        """The message."""
        return FinishObservation.from_text(action.message)
