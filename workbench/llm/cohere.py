"""Parses Cohere's chat streams, which litellm 1.106 mistakes for lines of bare JSON; used by `litellm_route`."""

from __future__ import annotations

import importlib
import json
from typing import Any

_REASONS = {"COMPLETE": "stop", "STOP_SEQUENCE": "stop", "MAX_TOKENS": "length", "TOOL_CALL": "tool_calls"}


def read_streams() -> None:
    """Replace litellm's parser of Cohere's events with `chunk_of`; further calls have no effect."""
    cohere = importlib.import_module("litellm.llms.cohere.common_utils")  # litellm is loaded by then
    cohere.CohereV2ModelResponseIterator.convert_str_chunk_to_generic_chunk = lambda _, chunk: chunk_of(chunk)


def chunk_of(line: str | bytes) -> dict[str, Any]:
    """Return a line of the stream as a chunk in litellm's generic format, which is empty if the line has no data."""
    text = line.decode() if isinstance(line, bytes) else line
    event = json.loads(text[5:]) if text.startswith("data:") and text[5:].strip() != "[DONE]" else {}
    chunk: dict[str, Any] = {
        "text": "",
        "tool_use": None,
        "is_finished": False,
        "finish_reason": "",
        "usage": None,
        "index": 0,
    }
    delta = event.get("delta") or {}
    message = delta.get("message") or {}
    kind = event.get("type", "")
    if kind == "content-delta":
        chunk["text"] = (message.get("content") or {}).get("text") or ""
    elif kind in ("tool-call-start", "tool-call-delta"):
        chunk["tool_use"] = _call(message.get("tool_calls") or {}, event.get("index", 0))
    elif kind == "message-end":
        reason = delta.get("finish_reason") or ""
        chunk |= {"is_finished": True, "finish_reason": _REASONS.get(reason, reason), "usage": _usage(delta)}
    return chunk


def _call(part: dict[str, Any], index: int) -> dict[str, Any]:
    function = part.get("function") or {}
    named = {"name": function.get("name"), "arguments": function.get("arguments") or ""}
    return {"id": part.get("id"), "type": "function", "function": named, "index": index}


def _usage(delta: dict[str, Any]) -> dict[str, int] | None:
    tokens = (delta.get("usage") or {}).get("tokens")
    if not tokens:
        return None
    read, written = int(tokens.get("input_tokens") or 0), int(tokens.get("output_tokens") or 0)
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
