"""The tool calls of a response, validated strictly and turned into actions.

Nothing is repaired: arguments that are not plainly one JSON object never become an action; the model gets an error.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, NoReturn

from workbench.llm.model import ModelResponse, ToolCall
from workbench.protocol.presentation import Presentation
from workbench.protocol.risk import Risk
from workbench.text import first_line, visible, well_formed
from workbench.tools.arguments import ArgumentError
from workbench.tools.older_calls import adapted
from workbench.tools.registry import resolve_alias
from workbench.tools.schema import Action
from workbench.tools.tool import ToolDefinition

MAX_ARGUMENTS = 2_000_000
"""The most characters of arguments in one call; a larger file is better written in parts."""
_MAX_DEPTH = 50


class UnreadableArguments(ValueError):
    """The arguments are not a JSON object; the message tells the model what is wrong and what to do."""


def read_arguments(text: str) -> dict[str, Any]:
    """Return the object in the text (empty text counts as `{}`). Raises UnreadableArguments."""
    if len(text) > MAX_ARGUMENTS:
        raise UnreadableArguments(
            f"the arguments are too large: the limit is {MAX_ARGUMENTS:,} characters. "
            "Send the work in several smaller calls."
        )
    value = _parse(text) if text.strip() else {}
    if not isinstance(value, dict):
        raise UnreadableArguments(f"the arguments must be one JSON object like {{…}}, not {_KINDS[type(value)]}.")
    return {_text(name): _clean(part, 1) for name, part in value.items()}


_KINDS = {
    list: "a list",
    str: "a string",
    bool: "true or false",
    int: "a number",
    float: "a number",
    type(None): "null",
}


def _parse(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_no_constant, parse_float=_number)
    except UnreadableArguments:
        raise
    except json.JSONDecodeError as error:
        raise UnreadableArguments(_explain(text, error)) from error
    except RecursionError as error:
        raise UnreadableArguments(_TOO_DEEP) from error
    # An integer with more digits than Python converts.
    except ValueError as error:
        raise UnreadableArguments("the arguments hold a number that is too long.") from error


_TOO_DEEP = f"the arguments are nested more than {_MAX_DEPTH} levels deep."


def _explain(text: str, error: json.JSONDecodeError) -> str:
    near = visible(text[max(0, error.pos - 20) : error.pos + 20], lines=False)
    is_cut = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated")
    where = "they end too early, perhaps cut off" if is_cut else f"near `{near}`"
    return f"the arguments are not valid JSON ({error.msg}, {where}). Send the call again with one valid JSON object."


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise UnreadableArguments(f"the arguments name {visible(twice[:80], lines=False)!r} twice; say each once.")
    return result


def _no_constant(name: str) -> NoReturn:
    raise UnreadableArguments(f"{name} is not a JSON value; use a number or null.")


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise UnreadableArguments(f"the number {text[:40]} is too large.")
    return value


def _clean(value: Any, depth: int) -> Any:
    """Return the value with every string well formed, so that it can be stored and sent; raises UnreadableArguments if
    it is nested too deep.
    """
    if depth > _MAX_DEPTH:
        raise UnreadableArguments(_TOO_DEEP)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list):
        return [_clean(part, depth + 1) for part in value]
    if isinstance(value, dict):
        return {_text(name): _clean(part, depth + 1) for name, part in value.items()}
    return value


def _text(value: str) -> str:
    return value if value.isascii() and "\x00" not in value else well_formed(value)


_RISKS: dict[object, Risk] = {"LOW": "LOW", "MEDIUM": "MEDIUM", "HIGH": "HIGH"}
_EXTRAS = ("security_risk", "summary")
_LISTED = 60
_NO_ID_SIGN = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True)
class ReadCall:
    """One tool call in a response; `action` is None exactly when `error` says what is wrong with the call."""

    call_id: str
    tool: str
    function: str
    """The tool's name as the model wrote it."""
    arguments: dict[str, Any]
    action: Action | None
    thought: str = ""
    summary: str = ""
    risk: Risk = "UNKNOWN"
    error: str = ""
    presentation: Presentation | None = None


def read_response(
    response: ModelResponse, tools: Mapping[str, ToolDefinition], used_ids: Container[str], refusal: str = ""
) -> tuple[ReadCall, ...]:
    """Return every call in the response, in order, with IDs that are unique in it and not among `used_ids`.

    If there is a `refusal`, it becomes the error of every call, and none becomes an action.
    """
    calls: list[ReadCall] = []
    taken: set[str] = set()
    for position, call in enumerate(response.tool_calls):
        is_last = position == len(response.tool_calls) - 1
        call_id = _unique(call.id, taken, used_ids)
        taken.add(call_id)
        thought = well_formed(response.text).strip() if position == 0 else ""
        calls.append(_read(call, call_id, thought, tools, refusal or _cut(response, is_last)))
    return tuple(calls)


def _cut(response: ModelResponse, is_last: bool) -> str:
    """Return why the call may be incomplete, or an empty string."""
    if is_last and response.finish_reason == "length":
        return (
            "the answer hit its length limit inside this call, so the call was cut off and was not run. "
            "Make it smaller: edit less at once, or write a long file in several steps."
        )
    if is_last and response.finish_reason == "content_filter":
        return (
            "the provider's content filter ended the answer inside this call, so the call may be cut off and was not "
            "run. Try it in another way."
        )
    if response.incomplete:
        return "the connection broke during this call, so it was not run. Send it again."
    return ""


def _unique(proposed: str, taken: set[str], used: Container[str]) -> str:
    """Return an ID that every provider accepts and that no other call has."""
    base = _NO_ID_SIGN.sub("_", proposed)[:56] or "call"
    name, count = base, 1
    while name in taken or name in used:
        count += 1
        name = f"{base}-{count}"
    return name


def _read(call: ToolCall, call_id: str, thought: str, tools: Mapping[str, ToolDefinition], refusal: str) -> ReadCall:
    name = resolve_alias(call.name.strip())
    safe_name = name if name in tools else _NO_ID_SIGN.sub("_", name)[:64] or "unnamed"
    read = ReadCall(call_id, safe_name, visible(call.name.strip()[:64], lines=False), {}, None, thought)
    if name not in tools:
        printable = visible(name[:80], lines=False)
        return _failed(read, f"there is no tool {printable!r}. {_there(name, tools)}")
    if refusal:
        return _failed(read, refusal)
    try:
        arguments = read_arguments(call.arguments)
    except UnreadableArguments as error:
        return _failed(read, str(error))
    return _validated(read, tools[name], arguments)


def _there(name: str, tools: Mapping[str, ToolDefinition]) -> str:
    """Return a hint about the available tools: all of them or, if there are many, those with similar names."""
    if len(tools) <= _LISTED:
        return f"The tools are: {', '.join(sorted(tools))}."
    near = ", ".join(get_close_matches(name, tools, 5))
    return f"Near it are: {near}." if near else "Call one of those in your list; find_tools finds others."


def _validated(read: ReadCall, tool: ToolDefinition, arguments: dict[str, Any]) -> ReadCall:
    risk, summary = arguments.get("security_risk"), arguments.get("summary")
    own = tool.action_type.model_fields
    arguments = {name: value for name, value in arguments.items() if name not in _EXTRAS or name in own}
    arguments = adapted(tool.name, arguments, [field.alias or name for name, field in own.items()])
    call = replace(
        read,
        arguments=arguments,
        summary=first_line(summary, 200) if isinstance(summary, str) else "",
        risk=_RISKS.get(risk, "UNKNOWN") if isinstance(risk, str) else "UNKNOWN",
        presentation=tool.recorded_presentation(arguments),
    )
    try:
        action = tool.action_from_arguments(arguments)
    except ArgumentError as error:
        return _failed(call, str(error))
    return replace(call, action=action)


def _failed(read: ReadCall, why: str) -> ReadCall:
    return replace(read, error=well_formed(f"{read.tool} was not run: {why}"))
