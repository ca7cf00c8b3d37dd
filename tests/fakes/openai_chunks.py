"""Answers as OpenAI's stream of chunks; used by `model_server`."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

from tests.fakes.model_turns import Turn

_numbers = itertools.count(1)


def frame(chunk: dict[str, Any] | bytes) -> bytes:
    """Return one event of the stream."""
    return chunk if isinstance(chunk, bytes) else b"data: " + json.dumps(chunk).encode() + b"\n\n"


def chunks_of(turn: Turn) -> Iterator[dict[str, Any] | bytes]:
    """Return the chunks of an answer; `turn.raw` unchanged if it is set."""
    if turn.raw:
        yield from turn.raw
        return
    number = next(_numbers)
    yield _chunk(number, {"role": "assistant", "content": ""})
    for part in _pieces(turn.reasoning, turn.piece):
        yield _chunk(number, {"reasoning_content": part})
    for part in _pieces(turn.text, turn.piece):
        yield _chunk(number, {"content": part})
    for index, call in enumerate(turn.calls):
        call_id = f"call_{number}_{index}" if call.id is None else call.id
        first = {"index": index, "id": call_id, "type": "function", "function": {"name": call.name, "arguments": ""}}
        yield _chunk(number, {"tool_calls": [first]})
        for part in _pieces(call.text, max(turn.piece, len(call.text) // 50)):
            yield _chunk(number, {"tool_calls": [{"index": index, "function": {"arguments": part}}]})
    yield _chunk(number, {}, turn.finish or ("tool_calls" if turn.calls else "stop"))
    if turn.usage is not None:
        yield {**_chunk(number, {}), "choices": [], "usage": dict(turn.usage)}


def _chunk(number: int, delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    head = {"id": f"answer-{number}", "object": "chat.completion.chunk", "created": 1, "model": "fake"}
    return {**head, "choices": [choice]}


def _pieces(text: str, size: int) -> Iterator[str]:
    return (text[at : at + size] for at in range(0, len(text), size))
