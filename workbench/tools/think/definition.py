"""The tool `think`: logs a thought for the user, and does nothing else."""

from __future__ import annotations

from pydantic import Field

from workbench.tools.executor import ToolExecutor
from workbench.tools.schema import Action, Observation
from workbench.tools.tool import StatelessTool, ToolAnnotations, described

_DESCRIPTION = """Think aloud: log a thought without doing anything. Use it to compare ways to a fix after you have
found the cause of a bug, to weigh a design before a larger change, or to sort out results that do not fit together."""
_SHORT = "Log a thought without doing anything, to work out a difficult step."


class ThinkAction(Action):
    """One thought."""

    thought: str = Field(description="The thought.")


class ThinkObservation(Observation):
    """The thought was logged."""


class ThinkTool(StatelessTool[ThinkAction, ThinkObservation]):
    """Logs a thought."""

    name = "think"
    description = _DESCRIPTION
    short_description = _SHORT
    action_type = ThinkAction
    observation_type = ThinkObservation
    annotations = ToolAnnotations.reading("Think")

    def __init__(self) -> None:
        super().__init__(ThinkExecutor())


class ThinkExecutor(ToolExecutor[ThinkAction, ThinkObservation]):
    """Does nothing."""

    def __call__(self, action: ThinkAction) -> ThinkObservation:
        """Return a fixed answer."""
        return ThinkObservation.from_text("Your thought has been logged.")


think_tool = described(ThinkTool)
