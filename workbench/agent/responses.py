"""The tool calls of a response, validated and turned into actions.

A malformed call that can be read in only one way is repaired first, so that the repaired call is rated, shown and run;
the model is notified. No other malformed call, in particular none that was cut off, becomes an action: the model gets
an error that says what to send.
"""

from __future__ import annotations

import json
import math
from collections.abc import Container, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, NoReturn

from workbench.agent.call_repair import is_open, repaired_names, risk_of, tool_named
from workbench.agent.json_repair import AmbiguousArguments, repaired_json
from workbench.lazy_pattern import lazy_pattern
from workbench.llm.model import ModelResponse, ToolCall
from workbench.protocol.presentation import Presentation
from workbench.protocol.risk import Risk
from workbench.secrets.masker import MASKER
from workbench.text import first_line, visible, well_formed
from workbench.tools.argument_repair import repaired_arguments
from workbench.tools.arguments import ArgumentError
from workbench.tools.manifest import kind_of
from workbench.tools.older_calls import AmbiguousCall, adapted, inferred, sub_agent_in
from workbench.tools.rich_text import recorded_call
from workbench.tools.schema import Action
from workbench.tools.tool import ToolDefinition

MAX_ARGUMENTS = 2_000_000
"""The maximum length of a call's arguments in characters."""
_MAX_DEPTH = 50


class UnreadableArguments(ValueError):
    """The arguments of a call cannot be used; the error's message tells the model what is wrong and what to do."""


def read_arguments(text: str) -> dict[str, Any]:
    """Return the JSON object in the text; `{}` if the text is empty.

    Raises UnreadableArguments if the text is anything else, too long, or nested too deep.
    """
    if len(text) > MAX_ARGUMENTS:
        raise UnreadableArguments(
            f"the arguments are too large: the limit is {MAX_ARGUMENTS:,} characters. "
            "Send the work in several smaller calls."
        )
    return _cleaned(_parse(text) if text.strip() else {})


def read_or_repaired(text: str) -> tuple[dict[str, Any], str]:
    """Return the JSON object in the text, and a note on how it was repaired; the note is empty if it was valid.

    A text is repaired only if it can be read in exactly one way; otherwise UnreadableArguments is raised.
    """
    try:
        return read_arguments(text), ""
    except UnreadableArguments:
        try:
            result = repaired_json(text, _parse_loosely)
        except AmbiguousArguments as error:
            raise UnreadableArguments(str(error)) from error
        value, note = _unpacked(*result) if result else (None, "")
        if not isinstance(value, dict):
            raise
    return _cleaned(value), note


def _unpacked(value: Any, note: str) -> tuple[Any, str]:
    """Return the object in a value that is an object encoded as a string or a list of one object, else the value.

    The note is returned too, extended if the value was unpacked.
    """
    if isinstance(value, str) and value.lstrip()[:1] == "{":
        with suppress(ValueError, RecursionError):
            return _parse_loosely(value), _joined(note, "JSON inside a text read as the object")
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        return value[0], _joined(note, "a list of one object read as the object")
    return value, note


def _joined(*notes: str) -> str:
    return ", ".join(filter(None, notes))


def _cleaned(value: Any) -> dict[str, Any]:
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


def _parse_loosely(text: str) -> Any:
    """Parse JSON whose strings may contain raw line breaks and tabs. Raises ValueError if it is invalid."""
    return json.loads(text, strict=False, object_pairs_hook=_object, parse_constant=_no_constant, parse_float=_number)


def _parse(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_no_constant, parse_float=_number)
    except UnreadableArguments:
        raise
    except json.JSONDecodeError as error:
        raise UnreadableArguments(_explain(text, error)) from error
    except RecursionError as error:
        raise UnreadableArguments(_TOO_DEEP) from error
    # Raised for an integer with more digits than Python converts.
    except ValueError as error:
        raise UnreadableArguments("the arguments contain a number that is too long.") from error


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
    """Return the value with all its strings well formed, so that it can be stored and sent.

    Raises UnreadableArguments if the value is nested too deep.
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


_EXTRAS = ("security_risk", "summary")
_LISTED = 60
_NO_ID_SIGN = lazy_pattern(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True)
class ReadCall:
    """One tool call of a response: it has either an `action` or an `error` that says what is wrong with the call."""

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
    rendering: str = ""
    repairs: tuple[str, ...] = ()
    """A line for each part of the call that was repaired."""


def read_response(
    response: ModelResponse, tools: Mapping[str, ToolDefinition], used_ids: Container[str], refusal: str = ""
) -> tuple[ReadCall, ...]:
    """Return every call in the response, in order, with IDs that differ from each other and from `used_ids`.

    If `refusal` is not empty, no call becomes an action: it is the error of each call that names an existing tool.
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
    """Return an ID based on the proposed one that every provider accepts and that is in neither collection."""
    base = _NO_ID_SIGN.sub("_", proposed)[:56] or "call"
    name, count = base, 1
    while name in taken or name in used:
        count += 1
        name = f"{base}-{count}"
    return name


def _read(call: ToolCall, call_id: str, thought: str, tools: Mapping[str, ToolDefinition], refusal: str) -> ReadCall:
    name, is_repaired = tool_named(call.name, tools)
    safe_name = name if name in tools else _NO_ID_SIGN.sub("_", name)[:64] or "unnamed"
    printable = visible(call.name.strip()[:64], lines=False)
    notes = (*call.repairs, *([f"the tool name {printable!r} as `{name}`"] if is_repaired else []))
    read = ReadCall(call_id, safe_name, printable, {}, None, thought, repairs=notes)
    if name not in tools and (name or not call.error):
        printable = visible(name[:80], lines=False)
        return _failed(read, f"there is no tool {printable!r}. {_there(name, tools)}")
    if refusal or call.error:
        return _failed(read, refusal or call.error)
    try:
        arguments, note = read_or_repaired(call.arguments)
    except UnreadableArguments as error:
        return _failed(read, str(error))
    if note:
        read = replace(read, repairs=(*read.repairs, f"its arguments as JSON: {visible(note, lines=False)}"))
    return _validated(read, tools[name], arguments)


def _there(name: str, tools: Mapping[str, ToolDefinition]) -> str:
    """Return a sentence about the available tools: all of them or, if there are many, those with similar names."""
    if len(tools) <= _LISTED:
        return f"The tools are: {', '.join(sorted(tools))}."
    near = ", ".join(get_close_matches(name, tools, 5))
    return f"Near it are: {near}." if near else "Call one of those in your list; find_tools finds others."


def _validated(read: ReadCall, tool: ToolDefinition, arguments: dict[str, Any]) -> ReadCall:
    own = tool.action_type.model_fields
    parameters = [field.alias or name for name, field in own.items()]
    arguments, notes = repaired_names(arguments, parameters, read.tool, is_open=is_open(tool))
    risk, risk_note = risk_of(arguments.get("security_risk"))
    summary = arguments.get("summary")
    arguments = {name: value for name, value in arguments.items() if name not in _EXTRAS or name in own}
    if kind_of(tool.name) == "sub_agent" and (agent := sub_agent_in(read.function)):
        arguments = {**arguments, "agent": agent}
    arguments = adapted(tool.name, arguments, parameters)
    call = replace(
        read,
        arguments=arguments,
        summary=first_line(summary, 200) if isinstance(summary, str) else "",
        risk=risk,
        repairs=(*read.repairs, *notes, *risk_note),
    )
    try:
        call, action = _action_of(call, tool, arguments)
    except (ArgumentError, AmbiguousCall) as error:
        return _failed(_presented(call, tool), str(error))
    return replace(
        _presented(call, tool), action=action, rendering=recorded_call(tool, call.arguments, MASKER.masked_data)
    )


def _action_of(call: ReadCall, tool: ToolDefinition, arguments: dict[str, Any]) -> tuple[ReadCall, Action]:
    """Return the validated action of a call, and the call with its arguments repaired if that was necessary.

    Raises ArgumentError, or AmbiguousCall if the arguments may mean several things.
    """
    repaired, inferences = inferred(tool.name, arguments)
    repaired, notes = repaired_arguments(repaired, tool.schema)
    notes = [*inferences, *notes]
    action = tool.action_from_arguments(repaired)
    if not notes:
        return call, action
    lines = tuple(visible(note, lines=False) for note in notes)
    return replace(call, arguments=repaired, repairs=(*call.repairs, *lines)), action


def _presented(call: ReadCall, tool: ToolDefinition) -> ReadCall:
    return replace(call, presentation=tool.recorded_presentation(call.arguments))


def _failed(read: ReadCall, why: str) -> ReadCall:
    return replace(read, error=well_formed(f"{read.tool} was not run: {why}"))
