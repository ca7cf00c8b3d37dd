"""Conversion of conversations with tool calls to plain text and back, for models without tool calling.

Pure functions over lists of messages in OpenAI's format; `text_tools.model` wraps a model with them. Names and text
format follow OpenHands' function call converter. Input messages are never modified.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, TypeAlias

from workbench.llm.model import Message
from workbench.llm.text_tools.values import (
    FunctionCallConversionError,
    FunctionCallValidationError,
    TextCall,
    ToolParameter,
    as_json,
    parameters_of,
    read_calls,
    read_words,
    write_call,
    write_words,
)

Tool = Mapping[str, Any]
STOP_WORD: Final = "</function"

_RULES: Final = """

# Functions

These functions are there for you:

{tools}

To call one, end your message with exactly this form:

<function=NAME>
<parameter=ONE>value</parameter>
<parameter=ANOTHER>
a value may
have many lines
</parameter>
</function>

- One call in a message, with every required parameter; its result comes as the next message.
- Reason before the call, never after it.
- A value is taken as it stands between its tags: no quotes around it, no escapes. Lists and objects are JSON.
- Inside a value, write a closing tag of this form as `<\\/parameter` or `<\\/function`.
- Without a call, your message goes to the user and you stop."""

EXAMPLE_BEGIN: Final = "This is how such a conversation goes. It is only an example.\n\n----- EXAMPLE -----\n"
EXAMPLE_END: Final = "\n----- END OF EXAMPLE -----\n\nNow the real one begins.\n\n"

_SAMPLES: Final[tuple[tuple[Mapping[str, Any], str, str], ...]] = (
    (
        {"command": "ls"},
        "I look at what is here first.",
        "notes.txt\n[The command completed with exit code 0.]",
    ),
    (
        {"command": "str_replace", "path": "/home/ada/notes.txt", "old_str": "teh end", "new_str": "the end"},
        "The last word has its letters mixed up. I fix it.",
        "Edited /home/ada/notes.txt.",
    ),
    ({"message": "The typing error in notes.txt is fixed."}, "That was all.", ""),
)
"""Arguments, text before the call, and its result; each is shown with the first tool that accepts the arguments."""
_EXTRAS: Final = frozenset({"security_risk", "summary"})
"""Parameters that every tool may have."""
_VALUES: Final = {"string": "text", "integer": 1, "number": 1.5, "boolean": True, "array": [], "object": {}}


def result_text(name: str, text: str) -> str:
    """Return a result as the text of a message."""
    return f"EXECUTION RESULT of [{name}]:\n{text}"


def instructions(tools: Sequence[Tool]) -> str:
    """Return the addition to the system prompt."""
    return _RULES.replace("{tools}", convert_tools_to_description(tools))


def convert_tools_to_description(tools: Iterable[Tool]) -> str:
    """Return a description of each tool and its parameters, in the format that CodeAct models know."""
    return "\n".join(_described(number, tool) for number, tool in enumerate(tools, 1))


def _described(number: int, tool: Tool) -> str:
    function = tool["function"]
    head = f"---- BEGIN FUNCTION #{number}: {function['name']} ----\nDescription: {function.get('description', '')}\n"
    rows = [_parameter_row(at, each) for at, each in enumerate(parameters_of(tool).values(), 1)]
    body = "Parameters:\n" + "\n".join(rows) if rows else "No parameters are required for this function."
    return f"{head}{body}\n---- END FUNCTION #{number} ----\n"


def _parameter_row(at: int, parameter: ToolParameter) -> str:
    need = "required" if parameter.is_required else "optional"
    row = f"  ({at}) {parameter.name} ({parameter.type_name}, {need}): {parameter.description}".rstrip()
    allowed = ", ".join(f"`{each}`" for each in parameter.enum or ())
    return f"{row}\nAllowed values: [{allowed}]" if allowed else row


def example(tools: Sequence[Tool]) -> str:
    """Return a short conversation that uses the given tools; empty without tools."""
    turns = []
    for arguments, words, result in _SAMPLES:
        tool = next((tool for tool in tools if _takes_all(tool, arguments)), None)
        turns += [_turn(tool, arguments, words, result)] if tool else []
    if not turns and tools:
        name = tools[0]["function"]["name"]
        turns = [_turn(tools[0], _any_arguments(tools[0]), f"I need {name} for that.", "…")]
    if not turns:
        return ""
    return f"{EXAMPLE_BEGIN}USER: There is a typing error in notes.txt. Fix it.\n\n{chr(10).join(turns)}{EXAMPLE_END}"


def _turn(tool: Tool, arguments: Mapping[str, Any], words: str, result: str) -> str:
    name, parameters = tool["function"]["name"], parameters_of(tool)
    samples = {key: value for key, value in arguments.items() if _takes(parameters.get(key), value)}
    call = write_call(name, {**_any_arguments(tool), **samples}, parameters)
    answer = f"\n\nUSER: {result_text(name, result)}\n" if result else ""
    return f"ASSISTANT: {words}\n\n{call}{answer}"


def _takes_all(tool: Tool, arguments: Mapping[str, Any]) -> bool:
    """Return whether the tool accepts the arguments and requires no others of its own."""
    parameters = parameters_of(tool)
    required = {each.name for each in parameters.values() if each.is_required} - _EXTRAS
    return required <= arguments.keys() and all(_takes(parameters.get(key), value) for key, value in arguments.items())


def _takes(parameter: ToolParameter | None, value: Any) -> bool:
    return parameter is not None and (parameter.enum is None or value in parameter.enum)


def _any_arguments(tool: Tool) -> dict[str, Any]:
    return {each.name: _sample(each) for each in parameters_of(tool).values() if each.is_required}


def _sample(parameter: ToolParameter) -> Any:
    if parameter.enum:
        return parameter.enum[0]
    return next((value for kind, value in _VALUES.items() if kind in parameter.kinds), None)


__all__ = [
    "STOP_WORD",
    "FunctionCallConversionError",
    "FunctionCallValidationError",
    "convert_fncall_messages_to_non_fncall_messages",
    "convert_from_multiple_tool_calls_to_single_tool_call_messages",
    "convert_non_fncall_messages_to_fncall_messages",
    "convert_tool_call_to_string",
    "convert_tools_to_description",
]

Table: TypeAlias = Mapping[str, Mapping[str, ToolParameter]]
"""The parameters of each tool, by the tool's name."""
_RESULT: Final = re.compile(r"EXECUTION RESULT of \[([^\]\n]*)\]:\n")
_LOOKS_LIKE_ONE: Final = re.compile(r"\\*EXECUTION RESULT of \[")


def convert_tool_call_to_string(tool_call: Mapping[str, Any], tools: Sequence[Tool] = ()) -> str:
    """Convert a call in OpenAI's format to text. Raises FunctionCallConversionError if the call is malformed."""
    return _call_text(tool_call, _table(tools))


def convert_fncall_messages_to_non_fncall_messages(
    messages: Sequence[Message], tools: Sequence[Tool], add_in_context_learning_example: bool = True
) -> list[Message]:
    """Convert calls and results to text; raises FunctionCallConversionError if one is malformed.

    The system message gets a description of the tools, and an example precedes the first user message.
    """
    prepared, names = _prepared(as_json(tools)), _names_by_id(messages)
    table, added = prepared.table, prepared.instructions
    intro = prepared.example if add_in_context_learning_example else ""
    converted: list[Message] = []
    for message in messages:
        role = message.get("role")
        if role == "system":
            converted.append(_with_text(message, lambda text: text + added, last=True))
        elif role == "user":
            converted.append(_user_text(message, intro))
            intro = ""
        elif role == "assistant":
            converted.append(_assistant_text(message, table))
        elif role == "tool":
            name = message.get("name") or names.get(message.get("tool_call_id"), "function")
            converted.append(_as_user(message, result_text(str(name), "")))
        else:
            raise FunctionCallConversionError(f"A message has the unknown role {role!r}.")
    return converted


def convert_non_fncall_messages_to_fncall_messages(messages: Sequence[Message], tools: Sequence[Tool]) -> list[Message]:
    """Convert text back to calls and results; the calls get the IDs `toolu_01` and so on.

    Raises FunctionCallConversionError for a malformed call, FunctionCallValidationError for one with invalid values.
    """
    prepared, ids = _prepared(as_json(tools)), _numbered_ids()
    table, added = prepared.table, prepared.instructions
    open_calls: list[tuple[str, str]] = []
    converted: list[Message] = []
    for message in messages:
        role = message.get("role")
        if role == "system":
            converted.append(_with_text(message, lambda text: text.removesuffix(added), last=True))
        elif role == "user":
            converted.append(_result(message, open_calls) or _with_text(message, _unescaped_user_text))
        elif role == "assistant":
            answer = _with_calls(message, table, ids)
            open_calls = [(call["function"]["name"], call["id"]) for call in answer.get("tool_calls", ())]
            converted.append(answer)
        else:
            raise FunctionCallConversionError(f"A message has the role {role!r}, which this form does not know.")
    return converted


def convert_from_multiple_tool_calls_to_single_tool_call_messages(
    messages: Sequence[Message], ignore_final_tool_result: bool = False
) -> list[Message]:
    """Split messages so that each has one call, followed by its result; the text stays with the first call.

    Raises FunctionCallConversionError if a call has no result; `ignore_final_tool_result` permits that at the end.
    """
    converted: list[Message] = []
    waiting: dict[str, Message] = {}
    for message in messages:
        if message.get("role") == "tool":
            alone = waiting.pop(message.get("tool_call_id", ""), None)
            converted += [alone, message] if alone is not None else [message]
            continue
        _refuse_open(waiting)
        if len(message.get("tool_calls") or ()) > 1:
            waiting = {call["id"]: _alone(message, call, at) for at, call in enumerate(message["tool_calls"])}
        else:
            converted.append(message)
    if not ignore_final_tool_result:
        _refuse_open(waiting)
    return converted


def checked_arguments(call: TextCall, table: Table) -> dict[str, Any]:
    """Return the typed arguments of a call. Raises a FunctionCallValidationError that says what is allowed."""
    parameters = table.get(call.name)
    if parameters is None:
        raise FunctionCallValidationError(f"There is no function `{call.name}`; there are: {', '.join(table)}.")
    if not call.values.keys() <= parameters.keys():
        unknown = min(call.values.keys() - parameters.keys())
        raise FunctionCallValidationError(
            f"Function `{call.name}` has no parameter `{unknown}`; it takes: {', '.join(parameters) or 'none'}."
        )
    for each in parameters.values():
        if each.is_required and each.name not in call.values:
            raise FunctionCallValidationError(f"Function `{call.name}` needs the parameter `{each.name}`.")
    return {name: parameters[name].read(text) for name, text in call.values.items()}


@dataclass(frozen=True)
class _Prepared:
    """The parts of a conversion that depend on the tools alone."""

    table: Table
    instructions: str
    example: str


@lru_cache(maxsize=8)
def _prepared(tools_as_json: str) -> _Prepared:
    tools: list[Tool] = json.loads(tools_as_json)
    return _Prepared(_table(tools), instructions(tools), example(tools))


def _table(tools: Sequence[Tool]) -> dict[str, dict[str, ToolParameter]]:
    return {tool["function"]["name"]: parameters_of(tool) for tool in tools}


def _names_by_id(messages: Sequence[Message]) -> dict[Any, str]:
    calls = [call for message in messages if "tool_calls" in message for call in message["tool_calls"] or ()]
    return {call.get("id"): call.get("function", {}).get("name", "function") for call in calls}


def _call_text(tool_call: Mapping[str, Any], table: Table) -> str:
    function = tool_call.get("function")
    if tool_call.get("type", "function") != "function" or not isinstance(function, Mapping) or "name" not in function:
        raise FunctionCallConversionError("A tool call needs `type` function and a `function` with its name.")
    try:
        arguments = json.loads(function.get("arguments") or "{}")
    except (ValueError, RecursionError) as error:
        raise FunctionCallConversionError(f"The arguments of `{function['name']}` are no JSON: {error}") from error
    if not isinstance(arguments, dict):
        raise FunctionCallConversionError(f"The arguments of `{function['name']}` are no JSON object.")
    return write_call(function["name"], arguments, table.get(function["name"], {}))


def _assistant_text(message: Message, table: Table) -> Message:
    converted = dict(message)
    calls = converted.pop("tool_calls", None)
    _change(converted, write_words)
    if calls:
        text = "\n".join([_call_text(call, table) for call in calls])
        _change(converted, lambda content: f"{content}\n\n{text}" if content else text, last=True)
    return converted


def _with_calls(message: Message, table: Table, ids: Iterator[str]) -> Message:
    content = message.get("content")
    text = content if isinstance(content, str) else "".join(each.get("text", "") for each in content or ())
    text_before, calls = read_calls(text)
    if not calls:
        return _with_text(message, read_words)
    for call in calls:
        if call.is_cut:
            raise FunctionCallConversionError(f"The call of `{call.name}` was cut off before its end.")
    checked = [(call.name, checked_arguments(call, table)) for call in calls]
    converted = dict(message) if isinstance(content, str) else _without_calls(message)
    if isinstance(content, str):
        converted["content"] = text_before
    converted["tool_calls"] = [_tool_call(next(ids), name, arguments) for name, arguments in checked]
    return converted


def _without_calls(message: Message) -> Message:
    """Remove the calls from content in parts; `_assistant_text` writes them into the last text part."""
    return _with_text(message, lambda part: read_calls(part)[0], last=True)


def _tool_call(call_id: str, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": as_json(arguments)}}


def _numbered_ids() -> Iterator[str]:
    number = 0
    while True:
        number += 1
        yield f"toolu_{number:02d}"


def _as_user(message: Message, heading: str) -> Message:
    converted = {**message, "role": "user"}
    converted.pop("tool_call_id", None)
    converted.pop("name", None)
    _change(converted, lambda text: heading + text)
    return converted


def _user_text(message: Message, intro: str) -> Message:
    return _with_text(message, lambda text: intro + _escaped_user_text(text))


def _result(message: Message, open_calls: list[tuple[str, str]]) -> Message | None:
    """Return the message as the result of an open call, or None if it is the user's own."""
    match = _RESULT.match(_first_text(message)) if open_calls else None
    if match is None:
        return None
    for at, (name, call_id) in enumerate(open_calls):
        if name == match[1]:
            del open_calls[at]
            converted = {**message, "role": "tool", "tool_call_id": call_id, "name": name}
            _change(converted, lambda text: text[match.end() :])
            return converted
    return None


def _escaped_user_text(text: str) -> str:
    """Return a user's text with a backslash in front if it looks like a result."""
    return f"\\{text}" if _LOOKS_LIKE_ONE.match(text) else text


def _unescaped_user_text(text: str) -> str:
    if text.startswith(EXAMPLE_BEGIN):
        text = text.partition(EXAMPLE_END)[2]
    return text[1:] if text.startswith("\\") and _LOOKS_LIKE_ONE.match(text) else text


def _first_text(message: Message) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return next((each["text"] for each in content if each.get("type") == "text"), "")
    return content or ""


def _with_text(message: Message, change: Callable[[str], str], *, last: bool = False) -> Message:
    """Return a copy of the message with its text changed."""
    converted = dict(message)
    _change(converted, change, last=last)
    return converted


def _change(message: Message, change: Callable[[str], str], *, last: bool = False) -> None:
    """Change the text of a message in place; of content in parts, the first (or last) text part."""
    content = message.get("content")
    if not isinstance(content, list):
        message["content"] = change(content or "")
        return
    at = [index for index, part in enumerate(content) if part.get("type") == "text"]
    if not at:
        added = {"type": "text", "text": change("")}
        message["content"] = [*content, added] if last else [added, *content]
        return
    index = at[-1] if last else at[0]
    part = {**content[index], "text": change(content[index]["text"])}
    message["content"] = [*content[:index], part, *content[index + 1 :]]


def _alone(message: Message, call: Mapping[str, Any], at: int) -> Message:
    return {**message, "tool_calls": [call], **({"content": ""} if at else {})}


def _refuse_open(waiting: Mapping[str, Message]) -> None:
    if waiting:
        raise FunctionCallConversionError(f"Calls without a result: {', '.join(waiting)}.")
