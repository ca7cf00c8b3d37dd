"""What a model was sent, in the conventions' schema of messages: instructions, messages and tools.

https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/gen-ai-input-messages.json
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from workbench.telemetry.span import CallInput

_NO_IMAGE: Final = "[an image, which is not sent]"
_OMITTED: Final = "[{} earlier messages are not sent: the input is too large]"


def input_content(request: CallInput, most: int) -> Mapping[str, Any]:
    """Return the attributes with the input of a call; of messages that need more than `most` characters, the first and
    the latest ones.
    """
    system = [
        part
        for each in request.messages
        if each.get("role") == "system"
        for part in _content_parts(each.get("content"))
    ]
    messages = [_message(each) for each in request.messages if each.get("role") != "system"]
    tools = [{"type": "function", **each.get("function", {})} for each in request.tools]
    return {
        "gen_ai.input.messages": _fitted(messages, most),
        **({"gen_ai.system_instructions": system} if system else {}),
        **({"gen_ai.tool.definitions": tools} if tools else {}),
    }


def _message(message: Mapping[str, Any]) -> dict[str, Any]:
    role, parts = str(message.get("role", "")), _content_parts(message.get("content"))
    if role == "tool":
        response = "\n".join(str(part["content"]) for part in parts)
        return {"role": role, "parts": [_part("tool_call_response", message.get("tool_call_id"), response=response)]}
    calls = message.get("tool_calls") or ()
    return {"role": role, "parts": [*parts, *(_call(call) for call in calls)]}


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    function = call.get("function") or {}
    return _part("tool_call", call.get("id"), name=function.get("name"), arguments=function.get("arguments"))


def _part(kind: str, call_id: object, **more: object) -> dict[str, Any]:
    return {"type": kind, "id": call_id, **more}


def _content_parts(content: object) -> list[dict[str, Any]]:
    """Return the parts of a message's content: its texts, and notes in place of images."""
    if isinstance(content, str):
        return [{"type": "text", "content": content}] if content else []
    return [{"type": "text", "content": text} for text in _each_text(content)]


def _each_text(content: object) -> Iterator[str]:
    for part in content if isinstance(content, Sequence) else ():
        yield str(part["text"]) if "text" in part else _NO_IMAGE


def _fitted(messages: list[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """Return all messages if they fit, else the first and the latest ones, with a note in place of the others."""
    sizes = [len(json.dumps(message, ensure_ascii=False)) for message in messages]
    if sum(sizes) <= most or len(messages) < 3:
        return messages
    available, at = most - sizes[0], len(messages)
    while at > 1 and available >= sizes[at - 1]:
        at -= 1
        available -= sizes[at]
    at = min(at, len(messages) - 1)
    note = {"role": "user", "parts": [{"type": "text", "content": _OMITTED.format(at - 1)}]}
    return [messages[0], note, *messages[at:]]
