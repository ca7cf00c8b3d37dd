"""Answers in the streaming form of each provider that litellm translates; used by `provider_server`.

An encoder turns a `Turn` into the frames of one HTTP body. The shapes follow the providers' public references.
"""

from __future__ import annotations

import json
import struct
from binascii import crc32
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from tests.fakes.model_turns import Called, Turn
from tests.fakes.openai_chunks import chunks_of, frame

Encoder: TypeAlias = Callable[[Turn], Iterator[bytes]]
INPUT, OUTPUT = 100, 20
"""Tokens that every answer says it used."""


def pieces(text: str, size: int) -> Iterator[str]:
    """The text in pieces of so many characters."""
    return (text[at : at + size] for at in range(0, len(text), size))


def _arguments(call: Called) -> Any:
    return json.loads(call.text)


def _sse(event: Mapping[str, Any], named: bool = False) -> bytes:
    head = f"event: {event['type']}\n" if named else ""
    return f"{head}data: {json.dumps(event)}\n\n".encode()


def openai_chat(turn: Turn) -> Iterator[bytes]:
    """Chunks of OpenAI's chat completions, as many other providers speak them."""
    for chunk in chunks_of(turn):
        yield frame(chunk)
    yield b"data: [DONE]\n\n"


def mistral(turn: Turn) -> Iterator[bytes]:
    """OpenAI's chunks, but calls come whole and reasoning as a part of the content."""
    for part in pieces(turn.reasoning, turn.piece):
        thinking = [{"type": "thinking", "thinking": [{"type": "text", "text": part}]}]
        yield _sse(_mistral_chunk({"content": thinking}))
    for part in pieces(turn.text, turn.piece):
        yield _sse(_mistral_chunk({"content": part}))
    calls = [
        {"id": f"call{number:05}", "function": {"name": call.name, "arguments": call.text}, "index": number}
        for number, call in enumerate(turn.calls)
    ]
    end = _mistral_chunk({"content": "", **({"tool_calls": calls} if calls else {})})
    end["choices"][0]["finish_reason"] = turn.finish or ("tool_calls" if calls else "stop")
    usage = {"prompt_tokens": INPUT, "completion_tokens": OUTPUT, "total_tokens": INPUT + OUTPUT}
    yield _sse({**end, "usage": usage})
    yield b"data: [DONE]\n\n"


def _mistral_chunk(delta: dict[str, Any]) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": None}
    return {"id": "m1", "object": "chat.completion.chunk", "created": 1, "model": "mistral-x", "choices": [choice]}


def anthropic_events(turn: Turn) -> Iterator[dict[str, Any]]:
    """The events of Anthropic's messages."""
    usage = {"input_tokens": INPUT, "output_tokens": 1}
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "content": [], "usage": usage}
    yield {"type": "message_start", "message": {**head, "stop_reason": None, "stop_sequence": None}}
    for number, (block, deltas) in enumerate(_anthropic_blocks(turn)):
        yield {"type": "content_block_start", "index": number, "content_block": block}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": number, "delta": delta}
        yield {"type": "content_block_stop", "index": number}
    reason = turn.finish or ("tool_use" if turn.calls else "end_turn")
    stop = {"stop_reason": reason, "stop_sequence": None}
    yield {"type": "message_delta", "delta": stop, "usage": {"output_tokens": OUTPUT}}
    yield {"type": "message_stop"}


def _anthropic_blocks(turn: Turn) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    if turn.reasoning:
        deltas = [{"type": "thinking_delta", "thinking": part} for part in pieces(turn.reasoning, turn.piece)]
        yield {"type": "thinking", "thinking": ""}, [*deltas, {"type": "signature_delta", "signature": "signed"}]
    if turn.text:
        texts = [{"type": "text_delta", "text": part} for part in pieces(turn.text, turn.piece)]
        yield {"type": "text", "text": ""}, texts
    for number, call in enumerate(turn.calls):
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": call.name, "input": {}}
        yield block, [{"type": "input_json_delta", "partial_json": part} for part in pieces(call.text, turn.piece)]


def anthropic(turn: Turn) -> Iterator[bytes]:
    """Server-sent events of Anthropic's messages."""
    for event in anthropic_events(turn):
        yield _sse(event, named=True)


def gemini(turn: Turn) -> Iterator[bytes]:
    """Responses of Gemini's streamGenerateContent; the last one with content has the reason."""
    parts: list[dict[str, Any]] = [{"text": part, "thought": True} for part in pieces(turn.reasoning, turn.piece)]
    parts += [{"text": part} for part in pieces(turn.text, turn.piece)]
    parts += [{"functionCall": {"name": call.name, "args": _arguments(call)}} for call in turn.calls]
    usage = {"promptTokenCount": INPUT, "candidatesTokenCount": OUTPUT, "totalTokenCount": INPUT + OUTPUT}
    for part in parts[:-1]:
        yield _sse(_gemini_response([part], None))
    yield _sse({**_gemini_response(parts[-1:], turn.finish or "STOP"), "usageMetadata": usage})


def gemini_with_a_trailing_count(turn: Turn) -> Iterator[bytes]:
    """As `gemini`, but the reason comes without content, and the usage in one more response without a candidate."""
    *responses, last = gemini(turn)
    end = json.loads(last.removeprefix(b"data: "))
    yield from responses
    for part in end["candidates"][0]["content"]["parts"]:
        yield _sse(_gemini_response([part], None))
    yield _sse({"candidates": [{"index": 0, "finishReason": turn.finish or "STOP"}], "modelVersion": "gemini-x"})
    yield _sse({"usageMetadata": end["usageMetadata"], "modelVersion": "gemini-x"})


def _gemini_response(parts: list[dict[str, Any]], reason: str | None) -> dict[str, Any]:
    candidate: dict[str, Any] = {"index": 0, "content": {"role": "model", "parts": parts}}
    if reason:
        candidate["finishReason"] = reason
    return {"candidates": [candidate], "modelVersion": "gemini-x", "responseId": "g1"}


def ollama_chat(turn: Turn) -> Iterator[bytes]:
    """JSON lines of Ollama's /api/chat."""
    for part in pieces(turn.reasoning, turn.piece):
        yield _line({"message": {"role": "assistant", "content": "", "thinking": part}, "done": False})
    for part in pieces(turn.text, turn.piece):
        yield _line({"message": {"role": "assistant", "content": part}, "done": False})
    for call in turn.calls:
        calls = [{"function": {"name": call.name, "arguments": _arguments(call)}}]
        yield _line({"message": {"role": "assistant", "content": "", "tool_calls": calls}, "done": False})
    yield _line({"message": {"role": "assistant", "content": ""}, **_ollama_end(turn)})


def ollama_generate(turn: Turn) -> Iterator[bytes]:
    """JSON lines of Ollama's /api/generate; a call is the one JSON object of the text."""
    calls = "".join(json.dumps({"name": call.name, "arguments": _arguments(call)}) for call in turn.calls)
    for part in pieces(turn.text + calls, turn.piece):
        yield _line({"response": part, "done": False})
    yield _line({"response": "", **_ollama_end(turn)})


def _ollama_end(turn: Turn) -> dict[str, Any]:
    counts = {"prompt_eval_count": INPUT, "eval_count": OUTPUT}
    return {"done": True, "done_reason": turn.finish or "stop", **counts}


def _line(entry: dict[str, Any]) -> bytes:
    return json.dumps({"model": "qwen-x", "created_at": "2026-01-01T00:00:00Z", **entry}).encode() + b"\n"


def responses(turn: Turn) -> Iterator[bytes]:
    """Events of OpenAI's responses."""
    output: list[dict[str, Any]] = []
    base = {"id": "resp_1", "object": "response", "created_at": 1, "model": "gpt-x", "output": [], "tools": []}
    yield _sse({"type": "response.created", "response": {**base, "status": "in_progress"}}, named=True)
    if turn.text:
        part = {"type": "output_text", "text": "", "annotations": []}
        item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "in_progress", "content": []}
        where = {"output_index": 0, "item_id": "msg_1", "content_index": 0}
        yield _sse({"type": "response.output_item.added", "output_index": 0, "item": item}, named=True)
        yield _sse({"type": "response.content_part.added", **where, "part": part}, named=True)
        for piece in pieces(turn.text, turn.piece):
            yield _sse({"type": "response.output_text.delta", **where, "delta": piece}, named=True)
        yield _sse({"type": "response.output_text.done", **where, "text": turn.text}, named=True)
        output.append({**item, "status": "completed", "content": [{**part, "text": turn.text}]})
        yield _sse({"type": "response.output_item.done", "output_index": 0, "item": output[-1]}, named=True)
    for number, call in enumerate(turn.calls, len(output)):
        item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": call.name}
        yield from _responses_call(item, call, number, turn.piece)
        output.append({**item, "status": "completed", "arguments": call.text})
    usage = {"input_tokens": INPUT, "output_tokens": OUTPUT, "total_tokens": INPUT + OUTPUT}
    status = {"status": "incomplete", "incomplete_details": {"reason": turn.finish}} if turn.finish else {}
    done = {**base, "status": "completed", "output": output, "usage": usage, **status}
    yield _sse({"type": f"response.{done['status']}", "response": done}, named=True)


def _responses_call(item: dict[str, Any], call: Called, number: int, size: int) -> Iterator[bytes]:
    begun = {**item, "status": "in_progress", "arguments": ""}
    where = {"output_index": number, "item_id": item["id"]}
    yield _sse({"type": "response.output_item.added", "output_index": number, "item": begun}, named=True)
    for piece in pieces(call.text, size):
        yield _sse({"type": "response.function_call_arguments.delta", **where, "delta": piece}, named=True)
    yield _sse({"type": "response.function_call_arguments.done", **where, "arguments": call.text}, named=True)
    whole = {**item, "status": "completed", "arguments": call.text}
    yield _sse({"type": "response.output_item.done", "output_index": number, "item": whole}, named=True)


def bedrock_converse(turn: Turn) -> Iterator[bytes]:
    """Messages of Bedrock's converse-stream in Amazon's binary framing."""
    yield _message("messageStart", {"role": "assistant"})
    number = 0
    if turn.reasoning:
        for part in pieces(turn.reasoning, turn.piece):
            yield _block(number, {"reasoningContent": {"text": part}})
        yield _block(number, {"reasoningContent": {"signature": "signed"}})
        yield _message("contentBlockStop", {"contentBlockIndex": number})
        number += 1
    for part in pieces(turn.text, turn.piece):
        yield _block(number, {"text": part})
    if turn.text:
        yield _message("contentBlockStop", {"contentBlockIndex": number})
        number += 1
    for call in turn.calls:
        start = {"toolUse": {"toolUseId": f"tooluse_{number}", "name": call.name}}
        yield _message("contentBlockStart", {"contentBlockIndex": number, "start": start})
        for part in pieces(call.text, turn.piece):
            yield _block(number, {"toolUse": {"input": part}})
        yield _message("contentBlockStop", {"contentBlockIndex": number})
        number += 1
    yield _message("messageStop", {"stopReason": turn.finish or ("tool_use" if turn.calls else "end_turn")})
    usage = {"inputTokens": INPUT, "outputTokens": OUTPUT, "totalTokens": INPUT + OUTPUT}
    yield _message("metadata", {"usage": usage, "metrics": {"latencyMs": 1}})


def _block(number: int, delta: dict[str, Any]) -> bytes:
    return _message("contentBlockDelta", {"contentBlockIndex": number, "delta": delta})


def _message(kind: str, payload: dict[str, Any]) -> bytes:
    """One message of `application/vnd.amazon.eventstream`: lengths, headers and payload with their checksums."""
    headers = b"".join(
        _header(name, value)
        for name, value in (
            (":event-type", kind),
            (":content-type", "application/json"),
            (":message-type", "event"),
        )
    )
    data = json.dumps(payload).encode()
    prelude = struct.pack(">II", 16 + len(headers) + len(data), len(headers))
    body = prelude + struct.pack(">I", crc32(prelude)) + headers + data
    return body + struct.pack(">I", crc32(body))


def _header(name: str, value: str) -> bytes:
    text = value.encode()
    return bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(text)) + text


def cohere(turn: Turn) -> Iterator[bytes]:
    """Events of Cohere's chat, version 2."""
    yield _sse({"type": "message-start", "id": "c1", "delta": {"message": {"role": "assistant", "content": []}}}, True)
    for part in pieces(turn.text, turn.piece):
        yield _sse({"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": part}}}}, True)
    for number, call in enumerate(turn.calls):
        start = {"id": f"{call.name}_{number}", "type": "function", "function": {"name": call.name, "arguments": ""}}
        yield _sse({"type": "tool-call-start", "index": number, "delta": {"message": {"tool_calls": start}}}, True)
        for part in pieces(call.text, turn.piece):
            delta = {"message": {"tool_calls": {"function": {"arguments": part}}}}
            yield _sse({"type": "tool-call-delta", "index": number, "delta": delta}, True)
        yield _sse({"type": "tool-call-end", "index": number}, True)
    tokens = {"input_tokens": INPUT, "output_tokens": OUTPUT}
    delta = {"finish_reason": turn.finish or ("TOOL_CALL" if turn.calls else "COMPLETE"), "usage": {"tokens": tokens}}
    yield _sse({"type": "message-end", "delta": delta}, True)


CONTENT_TYPES = {
    ollama_chat: "application/x-ndjson",
    ollama_generate: "application/x-ndjson",
    bedrock_converse: "application/vnd.amazon.eventstream",
}
"""The content types of bodies that are not `text/event-stream`."""
