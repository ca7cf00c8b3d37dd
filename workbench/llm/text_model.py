"""A model without tool calling, made to look like one that has it: calls travel as plain text (`text_calls`)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from workbench.llm.model import Cancel, Delta, Message, Model, ModelRequest, ModelResponse, ToolCall
from workbench.llm.text_calls import (
    STOP_WORD,
    FunctionCallConversionError,
    FunctionCallValidationError,
    convert_fncall_messages_to_non_fncall_messages,
)
from workbench.llm.text_stream import CallHider
from workbench.llm.text_syntax import TextCall, read_calls
from workbench.llm.text_values import Parameter, as_json, parameters_of


class TextCallModel:
    """Wraps a model; `needs_text` is asked with each request whether this form is needed."""

    def __init__(self, model: Model, needs_text: Callable[[], bool] = lambda: True) -> None:
        self._model = model
        self._needs_text = needs_text
        self.name = model.name

    @property
    def prices(self) -> Any:
        """What is known of the model, where anything is."""
        return getattr(self._model, "prices", None)

    def respond(self, request: ModelRequest, on_delta: Callable[[Delta], None], cancel: Cancel) -> ModelResponse:
        """Ask with tools and history as text; what comes back as text becomes tool calls."""
        if not self._needs_text():
            return self._model.respond(request, on_delta, cancel)
        messages = [_readable(message) for message in request.messages]
        tools = list(request.tools)
        if not tools:
            return self._model.respond(replace(request, messages=_as_text(messages, tools)), on_delta, cancel)
        hider = CallHider(on_delta)
        asked = replace(request, messages=_as_text(messages, tools), tools=(), stop=(STOP_WORD,))
        response = self._model.respond(asked, hider.take, cancel)
        hider.end()
        return _with_calls(response, tools)

    def close(self) -> None:
        """Free what the model holds."""
        self._model.close()


def _as_text(messages: Sequence[Message], tools: Sequence[dict[str, Any]]) -> list[Message]:
    if not tools and not any(message.get("tool_calls") or message.get("role") == "tool" for message in messages):
        return list(messages)
    return convert_fncall_messages_to_non_fncall_messages(messages, tools, bool(tools))


def _readable(message: Message) -> Message:
    """Calls of the log whose arguments were no JSON object go back to the model as the text they were."""
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
        pass  # the model reads below what it had written
    return {**call, "function": {**function, "arguments": as_json({"arguments": function["arguments"]})}}


def _with_calls(response: ModelResponse, tools: Sequence[dict[str, Any]]) -> ModelResponse:
    table = {tool["function"]["name"]: parameters_of(tool) for tool in tools}
    try:
        text, calls = read_calls(response.text)
    except FunctionCallConversionError as error:
        text, calls = response.text.partition("<function=")[0].rstrip(), []
        unread = (ToolCall("", _named(response.text), str(error)),)  # no JSON: the agent answers with an error
        return replace(response, text=text, tool_calls=() if response.incomplete else unread)
    made = tuple(_call(call, table.get(call.name, {})) for call in calls)
    if response.incomplete:
        made = ()
    return replace(response, text=text, tool_calls=made, finish_reason="tool_calls" if made else response.finish_reason)


def _named(text: str) -> str:
    return text.partition("<function=")[2].partition(">")[0].strip()[:80]


def _call(call: TextCall, parameters: dict[str, Parameter]) -> ToolCall:
    """The call for the agent, which checks it like any other; one that was cut has arguments that are no JSON."""
    if call.is_cut:
        return ToolCall("", call.name, "the call was cut off before its end")
    return ToolCall(
        "", call.name, as_json({name: _value(text, parameters.get(name)) for name, text in call.values.items()})
    )


def _value(text: str, parameter: Parameter | None) -> Any:
    try:
        return parameter.read(text) if parameter else text
    except FunctionCallValidationError:
        return text  # the tool's own check says what is allowed
