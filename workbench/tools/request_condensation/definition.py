"""The tool `request_condensation`: the session condenses the history before the next model call."""

from __future__ import annotations

from typing import Final

from workbench.tools.executor import ToolExecutor
from workbench.tools.schema import Action, Observation
from workbench.tools.tool import StatelessTool, ToolAnnotations

NAME: Final = "request_condensation"
_DESCRIPTION = """Have the history of this conversation compacted before your next step: its start and its recent
half stay as they are, what lies between is summarized. Use it when much of what was said or printed no longer matters,
for example after a long search, before you start the next part of the task. Note what you still need first."""
_SHORT = "Summarize older parts of this conversation before your next step, to make room."


class RequestCondensationAction(Action):
    """A request to condense the history."""


class RequestCondensationObservation(Observation):
    """The request was noted."""


class RequestCondensationTool(StatelessTool[RequestCondensationAction, RequestCondensationObservation]):
    """Requests a condensation of the history."""

    name = NAME
    description = _DESCRIPTION
    short_description = _SHORT
    action_type = RequestCondensationAction
    observation_type = RequestCondensationObservation
    annotations = ToolAnnotations.reading("Compact the history")

    def __init__(self) -> None:
        super().__init__(RequestCondensationExecutor())


class RequestCondensationExecutor(ToolExecutor[RequestCondensationAction, RequestCondensationObservation]):
    """Does nothing: the session condenses the history when it sees the call."""

    def __call__(self, action: RequestCondensationAction) -> RequestCondensationObservation:
        """Return a fixed answer."""
        return RequestCondensationObservation.from_text(
            "Before your next step the middle of the history is summarized, if there is enough of it."
        )
