"""The tool `finish`: the agent's final message; the run ends with it."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator

from workbench.tools.executor import ToolExecutor
from workbench.tools.schema import Action, Observation
from workbench.tools.tool import StatelessTool, ToolAnnotations, described

_DESCRIPTION = """End the run with a final message to the user. Call it when the task is done, or when you cannot go
on without the user. Say what you did and how it was checked, what is left open, and what the user has to do. Calls
after it in the same answer are not run."""
_SHORT = "End the run with a final message to the user: what was done, how it was checked, what is left."


class FinishAction(Action):
    """The final message, and whether the task is completed."""

    message: str = Field(description="The final message to the user.")
    task_completed: Literal["true", "false", "partial"] | None = Field(
        None, description="Whether the task is done, as far as you could check."
    )

    @field_validator("task_completed", mode="before")
    @classmethod
    def _spelled(cls, value: Any) -> Any:
        return str(value).lower() if isinstance(value, bool) else value


class FinishObservation(Observation):
    """The run has ended."""


class FinishTool(StatelessTool[FinishAction, FinishObservation]):
    """Ends the run."""

    name = "finish"
    description = _DESCRIPTION
    short_description = _SHORT
    action_type = FinishAction
    observation_type = FinishObservation
    annotations = ToolAnnotations.reading("Finish")
    ends_run = True

    def __init__(self) -> None:
        super().__init__(FinishExecutor())


class FinishExecutor(ToolExecutor[FinishAction, FinishObservation]):
    """Returns the message as the result."""

    def __call__(self, action: FinishAction) -> FinishObservation:
        """Return the message."""
        return FinishObservation.from_text(action.message)


finish_tool = described(FinishTool)
