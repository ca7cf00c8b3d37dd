"""Gives a checked answer back as the result."""

from __future__ import annotations

from workbench.tools.create_chat_completion.definition import (
    CreateChatCompletionAction,
    CreateChatCompletionObservation,
    written,
)
from workbench.tools.executor import ToolExecutor


class CreateChatCompletionExecutor(ToolExecutor[CreateChatCompletionAction, CreateChatCompletionObservation]):
    """The answer was checked when the action was made."""

    def __call__(self, action: CreateChatCompletionAction) -> CreateChatCompletionObservation:
        """The answer, as text and as data."""
        response = action.model_dump(mode="json", by_alias=True, exclude_unset=True)["response"]
        return CreateChatCompletionObservation.from_text(written(response), response=response)
