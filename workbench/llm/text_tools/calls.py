"""Conversion of conversations with tool calls to plain text and back, for models without tool calling.

Pure functions over lists of messages in OpenAI's format; `text_tools.model` wraps a model with them. Names and text
format follow OpenHands' function call converter. Input messages are never modified.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec

from workbench.lazy_pattern import lazy_pattern
from workbench.llm.model import Message
from workbench.llm.text_tools.content import (
    calls_of,
    checked_call,
    first_text,
    result_id,
    role_of,
    text_parts,
    with_each_text,
    with_text,
)
from workbench.llm.text_tools.descriptions import (
    EXAMPLE_BEGIN,
    EXAMPLE_END,
    Tool,
    convert_tools_to_description,
    example,
    instructions,
    result_text,
)
from workbench.llm.text_tools.parser import (
    TextCall,
    find_calls,
    without_calls,
    write_call,
    write_words,
)
from workbench.llm.text_tools.values import (
    RISK,
    FunctionCallConversionError,
    FunctionCallValidationError,
    Parameters,
    Table,
    as_json,
    parameters_of,
    tool_name,
    untyped,
)

STOP_WORD: Final = "</function"

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

_RESULT: Final = lazy_pattern(r"EXECUTION RESULT of \[([^\]\n]*)\]:\n")
_LOOKS_LIKE_ONE: Final = lazy_pattern(r"\\*EXECUTION RESULT of \[")


def convert_tool_call_to_string(tool_call: Mapping[str, Any], tools: Sequence[Tool] = ()) -> str:
    """Convert a call in OpenAI's format to text. Raises FunctionCallConversionError if the call is malformed."""
    return _call_text(checked_call(tool_call), _table(tools))


def convert_fncall_messages_to_non_fncall_messages(
    messages: Sequence[Message], tools: Sequence[Tool] | None, add_in_context_learning_example: bool = True
) -> list[Message]:
    """Convert calls and results to text; raises FunctionCallConversionError if one is malformed.

    The system message gets a description of the tools, and an example precedes the first user message.
    """
    prepared, names = _prepared(as_json(tools or [])), dict[str, str]()
    table, added = prepared.table, prepared.instructions
    intro = prepared.example if add_in_context_learning_example else ""
    converted: list[Message] = []
    for message in messages:
        role = role_of(message)
        if role == "system":
            converted.append(with_text(message, lambda text: text + added, last=True))
        elif role == "user":
            converted.append(_user_text(message, intro))
            intro = ""
        elif role == "assistant":
            calls = calls_of(message)
            names.update({call["id"]: call["function"]["name"] for call in calls})
            converted.append(_assistant_text(message, calls, table))
        elif role == "tool":
            name = message.get("name") or names.get(result_id(message), "function")
            converted.append(_as_user(message, result_text(str(name), "")))
        else:
            raise FunctionCallConversionError(f"A message has the unknown role {role!r}.")
    return converted


def convert_non_fncall_messages_to_fncall_messages(
    messages: Sequence[Message], tools: Sequence[Tool] | None
) -> list[Message]:
    """Convert text back to calls and results; the calls get the IDs `toolu_01` and so on.

    A missing or invalid `security_risk` is left as it is, because it counts as UNKNOWN. Raises
    FunctionCallConversionError for a malformed call, FunctionCallValidationError for one with invalid values.
    """
    prepared, ids = _prepared(as_json(tools or [])), _numbered_ids()
    table, added = prepared.table, prepared.instructions
    open_calls: list[tuple[str, str]] = []
    converted: list[Message] = []
    for message in messages:
        role = role_of(message)
        if role == "system":
            converted.append(with_text(message, lambda text: text.removesuffix(added), last=True))
        elif role == "user":
            converted.append(_result(message, open_calls) or with_text(message, _unescaped_user_text))
        elif role == "assistant":
            answer = _with_calls(message, table, ids)
            open_calls = [(call["function"]["name"], call["id"]) for call in answer.get("tool_calls") or ()]
            converted.append(answer)
        else:
            raise FunctionCallConversionError(f"A message has the role {role!r}, which this form does not know.")
    return converted


def convert_from_multiple_tool_calls_to_single_tool_call_messages(
    messages: Sequence[Message], ignore_final_tool_result: bool = False
) -> list[Message]:
    """Split messages with several calls so that each has one, followed by its result; text stays with the first call.

    Raises FunctionCallConversionError if a call has no result, except for calls of the last message with calls if
    `ignore_final_tool_result` is set.
    """
    converted: list[Message] = []
    waiting: dict[str, Message] = {}
    for message in messages:
        if role_of(message) == "tool":
            alone = waiting.pop(result_id(message), None)
            converted += [alone, message] if alone is not None else [message]
            continue
        _refuse_open(waiting)
        calls = calls_of(message)
        if len(calls) > 1:
            waiting = {call["id"]: _alone(message, call, at) for at, call in enumerate(calls)}
        else:
            converted.append(message)
    if not ignore_final_tool_result:
        _refuse_open(waiting)
    return converted


def checked_arguments(call: TextCall, table: Table) -> dict[str, Any]:
    """Return a call's arguments, converted to their types.

    Raises a FunctionCallValidationError that says what is allowed.
    """
    parameters = table.get(call.name)
    if parameters is None:
        raise FunctionCallValidationError(f"There is no function `{call.name}`; there are: {', '.join(table)}.")
    unknown = [name for name in call.values if name not in parameters and name != RISK]
    if unknown and not parameters.is_open:
        raise FunctionCallValidationError(
            f"Function `{call.name}` has no parameter `{min(unknown)}`; it takes: {', '.join(parameters) or 'none'}."
        )
    for name in parameters.required:
        if name not in call.values and not parameters.is_risk(name):
            raise FunctionCallValidationError(f"Function `{call.name}` needs the parameter `{name}`.")
    return {name: _argument(parameters, name, text) for name, text in call.values.items()}


def _argument(parameters: Parameters, name: str, text: str) -> Any:
    try:
        return (parameters.get(name) or untyped(name)).read(text)
    except FunctionCallValidationError:
        if parameters.is_risk(name):
            return text
        raise


class _Prepared(msgspec.Struct, frozen=True):
    """What a conversion needs that depends only on the tools."""

    table: Table
    instructions: str
    example: str


@lru_cache(maxsize=8)
def _prepared(tools_as_json: str) -> _Prepared:
    tools: list[Tool] = json.loads(tools_as_json)
    return _Prepared(_table(tools), instructions(tools), example(tools))


def _table(tools: Sequence[Tool]) -> dict[str, Parameters]:
    return {tool_name(tool): parameters_of(tool) for tool in tools}


def _call_text(tool_call: Mapping[str, Any], table: Table) -> str:
    function = tool_call["function"]
    try:
        arguments = json.loads(function.get("arguments") or "{}")
    except (ValueError, RecursionError) as error:
        raise FunctionCallConversionError(f"The arguments of `{function['name']}` are not JSON: {error}") from error
    if not isinstance(arguments, dict):
        raise FunctionCallConversionError(f"The arguments of `{function['name']}` are not a JSON object.")
    return write_call(function["name"], arguments, table.get(function["name"], Parameters()))


def _assistant_text(message: Message, calls: Sequence[Mapping[str, Any]], table: Table) -> Message:
    converted = with_each_text(message, lambda text, _: write_words(text))
    converted.pop("tool_calls", None)
    if not calls:
        return converted
    text = "\n".join([_call_text(call, table) for call in calls])
    return with_text(converted, lambda content: f"{content}\n\n{text}" if content else text, last=True)


def _with_calls(message: Message, table: Table, ids: Iterator[str]) -> Message:
    """Return an assistant's message with the calls moved from its text to `tool_calls`; other text stays in its part.

    Raises FunctionCallConversionError for a malformed call, FunctionCallValidationError for invalid values.
    """
    content = message.get("content")
    calls = find_calls(content if isinstance(content, str) else "".join(text_parts(message)), table)
    for call in calls:
        if call.is_cut:
            raise FunctionCallConversionError(f"The call of `{call.name}` was cut off before its end.")
    if isinstance(content, str):
        converted = {**message, "content": without_calls(content, calls)}
    else:
        converted = with_each_text(message, lambda text, offset: without_calls(text, calls, offset))
    if calls:
        checked = [(call.name, checked_arguments(call, table)) for call in calls]
        converted["tool_calls"] = [_tool_call(next(ids), name, arguments) for name, arguments in checked]
    return converted


def _tool_call(call_id: str, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": as_json(arguments)}}


def _numbered_ids() -> Iterator[str]:
    number = 0
    while True:
        number += 1
        yield f"toolu_{number:02d}"


def _as_user(message: Message, heading: str) -> Message:
    converted = with_text({**message, "role": "user"}, lambda text: heading + text)
    converted.pop("tool_call_id", None)
    converted.pop("name", None)
    return converted


def _user_text(message: Message, intro: str) -> Message:
    return with_text(message, lambda text: intro + _escaped_user_text(text))


def _result(message: Message, open_calls: list[tuple[str, str]]) -> Message | None:
    """Return the message as the result of one of `open_calls`, and remove that call; None if the user wrote it."""
    match = _RESULT.match(first_text(message))
    if match is None:
        return None
    for at, (name, call_id) in enumerate(open_calls):
        if name == match[1]:
            del open_calls[at]
            as_result = {"role": "tool", "tool_call_id": call_id, "name": name}
            if isinstance(text := message.get("content"), str):
                return {**message, **as_result, "content": text[match.end() :]}
            return with_text({**message, **as_result}, lambda text: text[match.end() :])
    return None


def _escaped_user_text(text: str) -> str:
    """Return a user's text, with a backslash in front if it starts like the result of a call."""
    return f"\\{text}" if _LOOKS_LIKE_ONE.match(text) else text


def _unescaped_user_text(text: str) -> str:
    if text.startswith(EXAMPLE_BEGIN):
        text = text.partition(EXAMPLE_END)[2]
    return text[1:] if text.startswith("\\") and _LOOKS_LIKE_ONE.match(text) else text


def _alone(message: Message, call: Mapping[str, Any], at: int) -> Message:
    return {**message, "tool_calls": [call], **({"content": ""} if at else {})}


def _refuse_open(waiting: Mapping[str, Message]) -> None:
    if waiting:
        raise FunctionCallConversionError(f"Calls without a result: {', '.join(waiting)}.")
