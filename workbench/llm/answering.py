"""One call of a provider's model with its tries: what streams in becomes one response; used by `client`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from workbench.llm.exchange import Chunk, Exchange
from workbench.llm.faults import Fault
from workbench.llm.fitting import has_pictures, is_blind, without_pictures
from workbench.llm.in_words import has_calls, in_words
from workbench.llm.model import Cancel, Delta, Message, ModelError, ModelRequest, ModelResponse
from workbench.llm.pricing import cost_of, window_of
from workbench.llm.retry import Cancelled
from workbench.llm.stream import Joiner
from workbench.text import first_line, well_formed

_RETOLD = "the provider refused the order of calls and results; they are sent once more, told in words"
_UNSEEN = "the provider refused the images, so they are left out"


class Provider(Protocol):
    """What a call needs of the model behind it."""

    name: str

    @property
    def longest_silence(self) -> float:
        """Seconds without a piece of an answer after which it is given up."""

    @property
    def prices(self) -> Mapping[str, Any] | None:
        """Dollars a token, where they are known."""

    def exchange(self, request: ModelRequest, cancel: Cancel) -> Exchange:
        """Start one request."""

    def fault(self, error: BaseException) -> Fault:
        """What an error of an exchange means, without the key in it."""

    def error(self, fault: Fault) -> ModelError:
        """The line for the person."""


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

        What the provider does not take is sent once more in another form: calls and results that it does not see as
        pairs are told in words, images are left out.
        """
        if has_pictures(self._request.messages) and is_blind(self._model.prices):
            self._change(without_pictures, f"{self._model.name} takes no images; they are not sent")
        try:
            return self._try()
        except Fault as fault:
            messages = self._request.messages
            if fault.kind == "pairing" and has_calls(messages):
                self._change(in_words, _RETOLD)
            elif fault.kind == "picture" and has_pictures(messages):
                self._change(without_pictures, f"{_UNSEEN}: {first_line(fault.text, 200)}")
            else:
                raise
        return self._try()

    def _change(self, how: Callable[[Sequence[Message]], list[Message]], said: str) -> None:
        """Send other messages from here on, and say so."""
        self._request = replace(self._request, messages=how(self._request.messages))
        self._on_delta(Delta("status", said))

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
            finish_reason=cut or _reason(joiner.finish_reason, bool(calls)),
            usage=replace(joiner.usage, window=window_of(prices)),
            cost=None if joiner.usage.input is None else cost_of(joiner.usage, prices),
            latency=time.monotonic() - self._begun,
            first_token=self._first_token,
            incomplete=bool(cut),
        )


def _reason(told: str, has_calls: bool) -> str:
    """The finish reason; some servers name none, or `stop` where calls wait for their results."""
    return "tool_calls" if has_calls and told in ("", "stop") else told or "stop"
