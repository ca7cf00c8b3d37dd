"""Answers the wish; the session reads it from the log and condenses before the next call of the model."""

from __future__ import annotations

from workbench.tools.executor import ToolExecutor
from workbench.tools.request_condensation.definition import RequestCondensationAction, RequestCondensationObservation


class RequestCondensationExecutor(ToolExecutor[RequestCondensationAction, RequestCondensationObservation]):
    """Does nothing by itself."""

    def __call__(self, action: RequestCondensationAction) -> RequestCondensationObservation:
        """Always the same answer."""
        return RequestCondensationObservation.from_text(
            "Before your next step the middle of the history is summed up, if there is enough of it."
        )
