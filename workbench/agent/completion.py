"""One question to the session's model outside of the conversation; the tools that need one get it (`edit_file`)."""

from __future__ import annotations

from collections.abc import Callable

from workbench.llm.model import Cancel, Model, ModelError, ModelRequest, ModelResponse
from workbench.tools.completion import Answer, CompletionError


class ModelCompletion:
    """Asks whichever model the session has at that moment; a `Completion` for its tools."""

    def __init__(self, model: Callable[[], Model] | None = None) -> None:
        self.on_answer: Callable[[ModelResponse], None] = lambda response: None
        """Told of each answer in the thread of the tool, also of one that broke off: it was paid for."""
        self._model = model
        self._cancel = Cancel()

    def use(self, model: Callable[[], Model]) -> None:
        """Ask this one from here on; the tools of a session are opened before its model is."""
        self._model = model

    def respond(self, request: ModelRequest, cancel: Cancel) -> ModelResponse:
        """What it says to a whole request; raises CompletionError when the call fails or is interrupted."""
        if self._model is None:
            raise CompletionError("There is no model here to ask.")
        try:
            response = self._model().respond(request, lambda delta: None, cancel)
        except ModelError as error:
            raise CompletionError(f"The model could not be asked: {error}") from error
        self.on_answer(response)
        if response.incomplete:
            raise CompletionError("The model's answer broke off.")
        return response

    def __call__(self, prompt: str) -> Answer:
        """The whole answer; raises CompletionError when the call fails or is interrupted, or the answer breaks off."""
        if self._model is None:
            raise CompletionError("There is no model here to ask.")
        self._cancel = Cancel()
        try:
            request = ModelRequest([{"role": "user", "content": prompt}])
            response = self._model().respond(request, lambda delta: None, self._cancel)
        except ModelError as error:
            raise CompletionError(f"The model could not be asked: {error} Nothing was changed.") from error
        self.on_answer(response)
        _check_whole(response)
        usage = response.usage
        return Answer(response.text, response.model, response.cost, usage.input, usage.output)

    def interrupt(self) -> None:
        """End the running call."""
        self._cancel.set()


def _check_whole(response: ModelResponse) -> None:
    if response.finish_reason == "length":
        raise CompletionError("The model's answer hit its length limit. Nothing was changed; try a smaller part.")
    if response.finish_reason == "content_filter":
        raise CompletionError("The provider's content filter ended the answer. Nothing was changed.")
    if response.incomplete:
        raise CompletionError("The model's answer broke off. Nothing was changed; call again.")
