"""One call of a provider's model with its tries: what streams in becomes one response; used by `client`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Protocol

from workbench.llm.exchange import Chunk, Exchange
from workbench.llm.faults import Fault
from workbench.llm.in_words import has_calls, in_words
from workbench.llm.model import Cancel, Delta, ModelError, ModelRequest, ModelResponse
from workbench.llm.pricing import cost_of, window_of
from workbench.llm.retry import Cancelled
from workbench.llm.stream import Joiner
from workbench.text import well_formed

_RETOLD = "the provider refused the order of calls and results; they are sent once more, told in words"


class Provider(Protocol):
    """What a call needs of the model behind it."""

    name: str

    @property
    def longest_silence(self) -> float:
        """Seconds without a piece of an answer after which it is given up."""
        ...

    @property
    def prices(self) -> Mapping[str, Any] | None:
        """Dollars a token, where they are known."""
        ...

    def exchange(self, request: ModelRequest, cancel: Cancel) -> Exchange:
        """Start one request."""
        ...

    def fault(self, error: BaseException) -> Fault:
        """What an error of an exchange means, without the key in it."""
        ...

    def error(self, fault: Fault) -> ModelError:
        """The line for the person."""
        ...


class Answering:
    """One call of a model with its tries; the clock runs from the first."""

    def __init__(
        self, model: Provider, request: ModelRequest, on_delta: Callable[[Delta], None], cancel: Cancel
    ) -> None:
        self._model = model
        self._request = request
        self._on_delta = on_delta
        self._cancel = cancel
        self._begun = time.monotonic()
        self._first_token: float | None = None

    def run(self) -> ModelResponse:
        """One try; raises Fault when nothing of an answer came.

        A history whose calls and results the provider does not take as a pair is sent once more, told in words.
        """
        try:
            return self._try()
        except Fault as fault:
            if fault.kind != "pairing" or not has_calls(self._request.messages):
                raise
        self._request = replace(self._request, messages=in_words(self._request.messages))
        self._on_delta(Delta("status", _RETOLD))
        return self._try()

    def _try(self) -> ModelResponse:
        if self._cancel.is_set:
            raise Cancelled
        joiner = Joiner()
        exchange = self._model.exchange(self._request, self._cancel)
        try:
            for chunk in exchange.chunks(self._model.longest_silence):
                self._take(joiner, chunk)
        finally:
            exchange.close()
        if self._cancel.is_set:
            return self.response(joiner, "interrupted")
        return self.response(joiner, "" if exchange.error is None else self._cut(joiner, exchange.error))

    def _take(self, joiner: Joiner, chunk: Chunk) -> None:
        for delta in joiner.add(chunk):
            if self._first_token is None:
                self._first_token = time.monotonic() - self._begun
            self._on_delta(delta)

    def _cut(self, joiner: Joiner, error: BaseException) -> str:
        """Keep what had come of a broken answer; raises Fault when that is nothing."""
        fault = self._model.fault(error)
        if not (joiner.text or joiner.reasoning):
            raise fault
        self._on_delta(Delta("status", str(self._model.error(fault))))
        return "stalled" if fault.kind == "stalled" else "cut"

    def response(self, joiner: Joiner, cut: str) -> ModelResponse:
        """The response so far; `cut` says why it is not whole, or is empty."""
        name = self._model.name
        calls = () if cut else joiner.calls
        prices = None if joiner.usage.input is None else self._model.prices  # before an answer it may be an import
        return ModelResponse(
            id=well_formed(joiner.id),
            model=well_formed(joiner.model) or name,
            text=joiner.text,
            reasoning=joiner.reasoning,
            thinking=() if cut else joiner.thinking.whole,
            tool_calls=calls,
            finish_reason=cut or joiner.finish_reason or ("tool_calls" if calls else "stop"),
            usage=replace(joiner.usage, window=window_of(prices)),
            cost=None if joiner.usage.input is None else cost_of(joiner.usage, prices),
            latency=time.monotonic() - self._begun,
            first_token=self._first_token,
            incomplete=bool(cut),
        )
