"""What stands behind a session without a model: it opens like any other, and says what to do once it is called."""

from __future__ import annotations

from collections.abc import Callable

from workbench.config.settings import NO_MODEL
from workbench.llm.model import Cancel, Delta, ModelError, ModelRequest, ModelResponse


class UnsetModel:
    """Answers nothing."""

    name = NO_MODEL

    def respond(self, request: ModelRequest, on_delta: Callable[[Delta], None], cancel: Cancel) -> ModelResponse:
        """Raises ModelError."""
        raise ModelError("this session has no model yet: /model PROVIDER/NAME gives it one")

    def close(self) -> None:
        """Nothing is open."""
