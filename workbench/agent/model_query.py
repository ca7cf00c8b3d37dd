"""Calls of the session's model outside the conversation, for tools that need one (such as `edit_file`)."""

from __future__ import annotations

from collections.abc import Callable

from workbench.llm.model import Cancel, Model, ModelError, ModelRequest, ModelResponse
from workbench.tools.context import Answer, CompletionError


def _ignore(response: ModelResponse) -> None:
    """Ignore the response: the default listener."""


class ModelCompletion:
    """Lets the tools of a session call the model that the session uses at the time; implements `Completion`."""

    def __init__(
        self, model: Callable[[], Model] | None = None, on_answer: Callable[[ModelResponse], None] = _ignore
    ) -> None:
        """`model` returns the session's model; without it, every call fails. `on_answer` receives each response, also
        an incomplete one (its tokens cost too), in the thread that runs the tool.
        """
        self._model = model
        self._on_answer = on_answer
        self._cancel = Cancel()

    def respond(self, request: ModelRequest, cancel: Cancel) -> ModelResponse:
        """Send a request and return the response; raises CompletionError if the call fails, is interrupted, or returns
        an incomplete response.
        """
        response = self._ask(request, cancel, "")
        if response.incomplete:
            raise CompletionError("The model's answer broke off.")
        return response

    def __call__(self, prompt: str) -> Answer:
        """Send a prompt and return the answer; raises CompletionError if the call fails, is interrupted, or returns an
        incomplete answer.
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
        """Cancel the running call that was started with a prompt; may be called from another thread."""
        self._cancel.set()


def _check_whole(response: ModelResponse) -> None:
    if response.finish_reason == "length":
        raise CompletionError("The model's answer hit its length limit. Nothing was changed; try a smaller part.")
    if response.finish_reason == "content_filter":
        raise CompletionError("The provider's content filter ended the answer. Nothing was changed.")
    if response.incomplete:
        raise CompletionError("The model's answer broke off. Nothing was changed; call again.")
