"""Cost of a streamed piece of an answer compared with litellm's own streaming, and tokens accepted per second.

A real server in a process of its own sends as fast as it can, one token a piece. Bare calls and ours to a compatible
server (whose stream the workbench reads itself) alternate. For other providers litellm reads the stream: there the
share of the workbench is the cost of showing pieces that were all made before.
"""

from __future__ import annotations

import contextlib
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.bench.llm_bench import serving
from tests.bench.measure import Measure
from workbench.agent.agent import Agent
from workbench.llm.client import ProviderModel
from workbench.llm.litellm_route import LitellmRoute
from workbench.llm.litellm_setup import load_litellm
from workbench.llm.model import Cancel, Delta, ModelRequest
from workbench.llm.route import Route
from workbench.protocol.events import SessionStarted
from workbench.protocol.live import LiveEvent, TextDelta
from workbench.session.session import Session, SessionOptions, SessionParts
from workbench.session.storage.store import Store

_TOKENS = 3_000
_ROUNDS = 5
_ASKED = [{"role": "user", "content": "go"}]
_WIDEST = 50.0
"""Microseconds that the workbench may add to litellm's for each piece."""
_FASTEST = 2_000.0
"""Tokens per second that must be reached."""


def measures() -> list[Measure]:
    """Return every measure of streaming."""
    with tempfile.TemporaryDirectory(prefix="ohw-bench-") as place, contextlib.ExitStack() as stack:
        answer: dict[str, Any] = {"text": "".join(f"{number:4} " for number in range(_TOKENS)), "piece": 5}
        address, _ = stack.enter_context(serving(Path(place), [answer] * (4 * _ROUNDS + 8), "stream"))
        model, read = ProviderModel("openai/fake", api_base=address, api_key="none"), _Read("hosted_vllm/fake")
        stack.callback(model.close)
        stack.callback(read.close)
        bare, ours, share = _in_turns(lambda: _bare(address), lambda: _called(model), lambda: _called(read))
        rates = [_rate(Path(place) / f"{number}.session", model) for number in range(_ROUNDS)]
    limit = bare + _WIDEST
    rate = statistics.median(rates)
    return [
        Measure("streamed piece of a compatible server", ours, "µs", bare, limit, ours <= limit),
        Measure("streamed piece through litellm, our share", share, "µs", bare, _WIDEST, share <= _WIDEST),
        Measure("tokens a second a session takes in (at least)", rate, "", None, _FASTEST, rate >= _FASTEST),
    ]


class _Read(ProviderModel):
    """A model behind litellm whose stream is prepared in advance."""

    @cached_property
    def _route(self) -> Route:
        return _PreparedRoute(self._target, self._connections)


class _PreparedRoute(LitellmRoute):
    """The route through litellm without a request."""

    def _complete(self, messages: list[dict[str, Any]], request: ModelRequest, **extra: Any) -> Any:
        return self._stream_there

    @cached_property
    def _stream_there(self) -> list[Any]:
        from litellm.types.utils import Delta as Piece
        from litellm.types.utils import ModelResponseStream, StreamingChoices

        words = [StreamingChoices(index=0, delta=Piece(content=f"{number:4} ")) for number in range(_TOKENS)]
        end = StreamingChoices(index=0, delta=Piece(), finish_reason="stop")
        return [ModelResponseStream(id="answer", model="fake", choices=[each]) for each in (*words, end)]


def _in_turns(*calls: Callable[[], None]) -> list[float]:
    """Return the median of each in microseconds of CPU per piece; the first round is a warm-up."""
    took: list[list[float]] = [[] for _ in calls]
    for number in range(_ROUNDS + 1):
        for place, call in enumerate(calls):
            began = time.process_time()
            call()
            if number:
                took[place].append((time.process_time() - began) * 1e6 / _TOKENS)
    return [statistics.median(each) for each in took]


def _bare(address: str) -> None:
    stream = load_litellm().completion(
        model="hosted_vllm/fake",
        api_base=address,
        api_key="none",
        messages=_ASKED,
        stream=True,
        stream_options={"include_usage": True},
        _skip_mcp_handler=True,
    )
    text = "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)
    assert len(text) == 5 * _TOKENS


def _called(model: ProviderModel) -> None:
    pieces: list[Delta] = []
    model.respond(ModelRequest(_ASKED), pieces.append, Cancel())
    assert len(pieces) == _TOKENS


def _rate(path: Path, model: ProviderModel) -> float:
    """Return the tokens per second, from the first to the last that a session publishes."""
    came: list[float] = []

    def heard(event: LiveEvent) -> None:
        if isinstance(event, TextDelta):
            came.append(time.perf_counter())

    with Store.create(path) as store:
        store.append(SessionStarted(id=path.stem, workspace=str(path.parent), model=model.name, mode="never"))
        session = Session(SessionParts(store, Agent(model, {}, path.parent), {}, SessionOptions(on_live=heard)))
        session.send("go")
        while session.step():
            pass
        session.close()
    assert len(came) == _TOKENS
    return (_TOKENS - 1) / (came[-1] - came[0])
