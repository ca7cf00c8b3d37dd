"""A wrapper that lets a model without tool calling use tools: it writes calls as plain text, which is hidden from the
user while a response streams.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final, Literal

from workbench.lazy_pattern import lazy_pattern
from workbench.llm.model import Cancel, Delta, Message, Model, ModelRequest, ModelResponse, ToolCall, open_early
from workbench.llm.text_tools.calls import (
    STOP_WORD,
    FunctionCallConversionError,
    FunctionCallValidationError,
    convert_fncall_messages_to_non_fncall_messages,
)
from workbench.llm.text_tools.ignored_text import is_quoted
from workbench.llm.text_tools.parser import TextCall, read_calls
from workbench.llm.text_tools.values import Parameters, ToolParameter, as_json, parameters_of

_CALLS: Final = (
    *("<function=", "<function =", "<function:", "<function name=", "<invoke name="),
    *("< function=", "< function =", "< function:", "< function name=", "< function name =", "< invoke name="),
    *("<tool_call>", "<function_calls>"),
)
_THINK: Final = "<think>"
_THOUGHT: Final = "</think>"


class CallHider:
    """Filters deltas on their way to the display: hides calls, and turns text inside `<think>` into reasoning.

    Text that may be the beginning of a tag is held back; `end` emits it if it was not a tag.
    """

    def __init__(self, on_delta: Callable[[Delta], None]) -> None:
        self._on_delta = on_delta
        self._held = ""
        self._last = ""
        self._inside: Literal["words", "thinking", "call"] = "words"

    def add(self, delta: Delta) -> None:
        """Pass on a delta, except for calls and text that may be the beginning of a tag."""
        if delta.kind != "text":
            self._on_delta(delta)
            return
        self._held += delta.text
        while self._inside != "call" and self._step():
            pass
        if self._inside == "call":
            self._held = ""

    def end(self) -> None:
        """Emit the rest when the response is complete."""
        if self._inside != "call":
            self._emit(len(self._held))

    def _step(self) -> bool:
        """Emit the text before the next tag; return whether there was a tag."""
        tags = (_THOUGHT,) if self._inside == "thinking" else (*_CALLS, _THINK)
        lower = self._held.lower()
        positions = [(at, tag) for tag in tags if (at := lower.find(tag)) >= 0]
        if not positions:
            self._emit(len(self._held) - _begun(self._held, tags))
            return False
        at, tag = min(positions)
        if tag not in _CALLS:
            before, end = self._held[at - 1] if at else self._last, at + len(tag)
            if is_quoted(before, before) and end == len(self._held):
                self._emit(at)  # the next character shows whether the text only speaks of the tag
                return False
            if is_quoted(before, self._held[end : end + 1]):
                self._emit(end)
                return True
        self._emit(at)
        self._held = self._held[len(tag) :]
        self._inside = "call" if tag in _CALLS else "thinking" if tag == _THINK else "words"
        return True

    def _emit(self, length: int) -> None:
        text, self._held = self._held[:length], self._held[length:]
        if text:
            self._last = text[-1]
            self._on_delta(Delta("reasoning" if self._inside == "thinking" else "text", text))


def _begun(text: str, tags: tuple[str, ...]) -> int:
    """Return how many characters at the end of the text may be the beginning of a tag."""
    text, longest = text.lower(), max(map(len, tags)) - 1
    for length in range(min(longest, len(text)), 0, -1):
        if any(tag.startswith(text[-length:]) for tag in tags):
            return length
    return 0


class TextCallModel:
    """Wraps a model; `needs_text` is called at each request and returns whether tool calls must be sent as text."""

    def __init__(self, model: Model, needs_text: Callable[[], bool] = lambda: True) -> None:
        self._model = model
        self._needs_text = needs_text
        self.name = model.name

    @property
    def prices(self) -> Any:
        """The wrapped model's entry in the price table, or None."""
        return getattr(self._model, "prices", None)

    def respond(self, request: ModelRequest, on_delta: Callable[[Delta], None], cancel: Cancel) -> ModelResponse:
        """Call the model with tools and history as text, and parse tool calls from its response. Raises ModelError."""
        if not self._needs_text():
            return self._model.respond(request, on_delta, cancel)
        messages = [_readable(message) for message in request.messages]
        tools = list(request.tools)
        if not tools:
            return self._model.respond(replace(request, messages=_as_text(messages, tools)), on_delta, cancel)
        hider = CallHider(on_delta)
        asked = replace(request, messages=_as_text(messages, tools), tools=(), stop=(STOP_WORD,))
        response = self._model.respond(asked, hider.add, cancel)
        hider.end()
        return _with_calls(response, tools)

    def open_early(self) -> None:
        """Open the wrapped model's connection."""
        open_early(self._model)

    def close(self) -> None:
        """Close the wrapped model."""
        self._model.close()


def _as_text(messages: Sequence[Message], tools: Sequence[dict[str, Any]]) -> list[Message]:
    if not tools and not any(message.get("tool_calls") or message.get("role") == "tool" for message in messages):
        return list(messages)
    return convert_fncall_messages_to_non_fncall_messages(messages, tools, bool(tools))


def _readable(message: Message) -> Message:
    """Return the message; arguments of calls that are not a JSON object are put into such an object, as text."""
    calls = message.get("tool_calls")
    if not calls:
        return message
    return {**message, "tool_calls": [_with_object(call) for call in calls]}


def _with_object(call: dict[str, Any]) -> dict[str, Any]:
    function = call["function"]
    try:
        if isinstance(json.loads(function["arguments"] or "{}"), dict):
            return call
    except (ValueError, RecursionError):
        pass  # the model gets the invalid text back, in an object
    return {**call, "function": {**function, "arguments": as_json({"arguments": function["arguments"]})}}


def _with_calls(response: ModelResponse, tools: Sequence[dict[str, Any]]) -> ModelResponse:
    table = {tool["function"]["name"]: parameters_of(tool) for tool in tools}
    try:
        text, calls = read_calls(response.text, table)
    except FunctionCallConversionError as error:
        opening = _BEGINNING.search(response.text)
        text = response.text[: opening.start()].rstrip() if opening else response.text
        # The arguments are deliberately not JSON, so that no code can run the call.
        written = response.text[opening.start() :] if opening else response.text
        unread = (ToolCall("", opening["name"] if opening else "", written, error=str(error)),)
        return replace(response, text=text, tool_calls=() if response.incomplete else unread)
    tool_calls = tuple(_call(call, table.get(call.name, Parameters())) for call in calls)
    if response.incomplete:
        tool_calls = ()
    return replace(
        response, text=text, tool_calls=tool_calls, finish_reason="tool_calls" if tool_calls else response.finish_reason
    )


_BEGINNING: Final = lazy_pattern(
    r"<\s{0,9}(?:(?:function|invoke)\b(?:\s{0,9}name)?\s{0,9}[=:]?\s{0,9}[\"']?|tool_call>\s{0,9}\{\s{0,9}\"name\":\s{0,9}\")"
    r"(?P<name>[^<>\s\"'=]{0,80})",
    re.IGNORECASE,
)
"""Matches the start of a call that could not be read; the group `name` is the tool's name."""


_CUT_OFF: Final = (
    "the call was cut off before its end. Send it again; if it is long, do less in one call or write a long file in "
    "several steps."
)


def _call(call: TextCall, parameters: Parameters) -> ToolCall:
    """Return the call for the agent, which validates it; a call that was cut off has an error and no JSON arguments."""
    if call.is_cut:
        return ToolCall("", call.name, "the call was cut off before its end", error=_CUT_OFF)
    arguments = {name: _value(text, parameters.parameter(name)) for name, text in call.values.items()}
    return ToolCall("", call.name, as_json(arguments), repairs=tuple(call.repairs))


def _value(text: str, parameter: ToolParameter | None) -> Any:
    try:
        return parameter.read(text) if parameter else text
    except FunctionCallValidationError:
        return text  # the tool's own check says what is allowed
