"""Calls of the session's model outside the conversation, for tools that need one (such as `edit_file`)."""

from __future__ import annotations

from collections.abc import Callable

from workbench.llm.model import Cancel, Model, ModelError, ModelRequest, ModelResponse
from workbench.tools.context import Answer, CompletionError


def _ignore(response: ModelResponse) -> None:
    """Ignore the response: the default listener."""


class ModelCompletion:
    """A `Completion` for the tools of a session: calls the model that the session uses at the time."""

    def __init__(
        self, model: Callable[[], Model] | None = None, on_answer: Callable[[ModelResponse], None] = _ignore
    ) -> None:
        """`on_answer` receives each response in the tool's thread, incomplete ones too, because they are charged."""
        self._model = model
        self._on_answer = on_answer
        self._cancel = Cancel()

    def respond(self, request: ModelRequest, cancel: Cancel) -> ModelResponse:
        """Send a request and return the response; raises CompletionError if the call fails, breaks off or is
        interrupted.
        """
        response = self._ask(request, cancel, "")
        if response.incomplete:
            raise CompletionError("The model's answer broke off.")
        return response

    def __call__(self, prompt: str) -> Answer:
        """Send a prompt and return the answer; raises CompletionError if the call fails, is interrupted, or is
        incomplete.
        """
        self._cancel = Cancel()
        request = ModelRequest([{"role": "user", "content": prompt}])
        response = self._ask(request, self._cancel, " Nothing was changed.")
        _check_whole(response)
        usage = response.usage
        return Answer(response.text, response.model, response.cost, usage.input, usage.output)

    def _ask(self, request: ModelRequest, cancel: Cancel, consequence: str) -> ModelResponse:
        if self._model is None:
            raise CompletionError("There is no model here to ask.")
        try:
            response = self._model().respond(request, lambda delta: None, cancel)
        except ModelError as error:
            raise CompletionError(f"The model could not be asked: {error}{consequence}") from error
        self._on_answer(response)
        return response

    def interrupt(self) -> None:
        """Cancel the running call."""
        self._cancel.set()


def _check_whole(response: ModelResponse) -> None:
    if response.finish_reason == "length":
        raise CompletionError("The model's answer hit its length limit. Nothing was changed; try a smaller part.")
    if response.finish_reason == "content_filter":
        raise CompletionError("The provider's content filter ended the answer. Nothing was changed.")
    if response.incomplete:
        raise CompletionError("The model's answer broke off. Nothing was changed; call again.")
