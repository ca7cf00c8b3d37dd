"""The text and the calls of a message in OpenAI's format, checked: content is text, a list of parts, or nothing.

All functions return copies and raise FunctionCallConversionError for a message that has another shape.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from workbench.llm.model import Message
from workbench.llm.text_tools.values import FunctionCallConversionError


def text_parts(message: Message) -> list[str]:
    """Return the texts of a message, one for each part that is text."""
    content = _content(message)
    return [content] if isinstance(content, str) else [part["text"] for part in content if part["type"] == "text"]


def first_text(message: Message) -> str:
    """Return the first text of a message; empty if it has none."""
    content = message.get("content")
    return content if isinstance(content, str) else next(iter(text_parts(message)), "")


def with_text(message: Message, change: Callable[[str], str], *, last: bool = False) -> Message:
    """Return the message with its text changed; if the content has parts, the first (or last) text is changed, or added
    if there is none.
    """
    content = _content(message)
    if isinstance(content, str):
        return {**message, "content": change(content)}
    at = [index for index, part in enumerate(content) if part["type"] == "text"]
    if not at:
        added = {"type": "text", "text": change("")}
        return {**message, "content": [*content, added] if last else [added, *content]}
    index = at[-1] if last else at[0]
    part = {**content[index], "text": change(content[index]["text"])}
    return {**message, "content": [*content[:index], part, *content[index + 1 :]]}


def with_each_text(message: Message, change: Callable[[str, int], str]) -> Message:
    """Return the message with all its texts changed; `change` gets each text and its offset in the joined texts."""
    content = _content(message)
    if isinstance(content, str):
        return {**message, "content": change(content, 0)}
    offset = 0
    parts: list[Mapping[str, Any]] = []
    for part in content:
        if part["type"] == "text":
            parts.append({**part, "text": change(part["text"], offset)})
            offset += len(part["text"])
        else:
            parts.append(part)
    return {**message, "content": parts}


def _content(message: Message) -> str | list[Mapping[str, Any]]:
    content = message.get("content")
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        raise FunctionCallConversionError(f"Content must be text or a list of parts, not {type(content).__name__}.")
    for part in content:
        _check_part(part)
    return content


def _check_part(part: Any) -> None:
    if not isinstance(part, Mapping) or not isinstance(part.get("type"), str):
        raise FunctionCallConversionError("Each part of content must be an object with its `type`.")
    if part["type"] == "text" and not isinstance(part.get("text"), str):
        raise FunctionCallConversionError("A part of the type text must have its `text`, as text.")


def role_of(message: Any) -> str:
    """Return the role of a message."""
    role = message.get("role") if type(message) is dict or _is_object(message) else None
    if not isinstance(role, str):
        raise FunctionCallConversionError(f"A message must be an object with its `role`, not {type(message).__name__}.")
    return role


def calls_of(message: Message) -> Sequence[Mapping[str, Any]]:
    """Return the calls of a message."""
    calls = message.get("tool_calls")
    if calls is None:
        return ()
    if not isinstance(calls, list | tuple):
        raise FunctionCallConversionError(f"`tool_calls` must be a list, not {type(calls).__name__}.")
    return [checked_call(call) for call in calls]


def checked_call(call: Any) -> Mapping[str, Any]:
    """Return a call that has an ID, the type function, and a function with name and arguments."""
    checked: Mapping[str, Any] = call if _is_object(call) else {}
    function: Any = checked.get("function")
    if not _is_object(function) or checked.get("type") != "function" or not _is_text(checked.get("id")):
        raise FunctionCallConversionError("A tool call needs an `id`, the `type` function, and a `function`.")
    if not _is_text(function.get("name")):
        raise FunctionCallConversionError("The function of a tool call needs its `name`.")
    if not isinstance(function.get("arguments"), str | None):
        raise FunctionCallConversionError(f"The arguments of `{function['name']}` must be JSON text.")
    return checked


def result_id(message: Message) -> str:
    """Return the ID of the call that a message is the result of; empty if it names none."""
    call_id = message.get("tool_call_id")
    if not isinstance(call_id, str | None):
        raise FunctionCallConversionError(f"`tool_call_id` must be text, not {type(call_id).__name__}.")
    return call_id or ""


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _is_object(value: Any) -> bool:
    # Nearly all are a dict, which is checked many times faster than a Mapping.
    return type(value) is dict or isinstance(value, Mapping)
