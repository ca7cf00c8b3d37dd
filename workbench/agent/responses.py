"""From a model's response to actions: one `ReadCall` a tool call, in order; used by the session.

A call that cannot become an action carries an `error` that tells the model what is allowed; nothing here raises.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from workbench.agent.call_arguments import UnreadableArguments, read_arguments
from workbench.llm.model import ModelResponse, ToolCall
from workbench.protocol.risk import Risk
from workbench.text import first_line, visible, well_formed
from workbench.tools.arguments import ArgumentError
from workbench.tools.older_calls import adapted
from workbench.tools.registry import resolve_alias
from workbench.tools.schema import Action
from workbench.tools.tool import ToolDefinition

_RISKS: dict[object, Risk] = {"LOW": "LOW", "MEDIUM": "MEDIUM", "HIGH": "HIGH"}
_EXTRAS = ("security_risk", "summary")
_LISTED = 60
_NO_ID_SIGN = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True)
class ReadCall:
    """One tool call of a response; `action` is None exactly when `error` says what is wrong with it."""

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


def read_response(
    response: ModelResponse, tools: Mapping[str, ToolDefinition], used_ids: Container[str], refusal: str = ""
) -> tuple[ReadCall, ...]:
    """Every call of the response, in its order, with ids used neither in it twice nor before (`used_ids`).

    With a `refusal` (why not) none of them becomes an action.
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
    """Why the call may be only the beginning of what the model meant, or nothing."""
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


def _unique(wanted: str, taken: set[str], used: Container[str]) -> str:
    """An id every provider accepts and that no other call has."""
    base = _NO_ID_SIGN.sub("_", wanted)[:56] or "call"
    name, count = base, 1
    while name in taken or name in used:
        count += 1
        name = f"{base}-{count}"
    return name


def _read(call: ToolCall, call_id: str, thought: str, tools: Mapping[str, ToolDefinition], refusal: str) -> ReadCall:
    name = resolve_alias(call.name.strip())
    shown = name if name in tools else _NO_ID_SIGN.sub("_", name)[:64] or "unnamed"
    read = ReadCall(call_id, shown, visible(call.name.strip()[:64], lines=False), {}, None, thought)
    if name not in tools:
        said = visible(name[:80], lines=False)
        return _failed(read, f"there is no tool {said!r}. {_there(name, tools)}")
    if refusal:
        return _failed(read, refusal)
    try:
        given = read_arguments(call.arguments)
    except UnreadableArguments as error:
        return _failed(read, str(error))
    return _validated(read, tools[name], given)


def _there(name: str, tools: Mapping[str, ToolDefinition]) -> str:
    """The tools there are; of very many those with a near name."""
    if len(tools) <= _LISTED:
        return f"The tools are: {', '.join(sorted(tools))}."
    near = ", ".join(get_close_matches(name, tools, 5))
    return f"Near it are: {near}." if near else "Call one of those in your list; find_tools finds others."


def _validated(read: ReadCall, tool: ToolDefinition, given: dict[str, Any]) -> ReadCall:
    risk, summary = given.get("security_risk"), given.get("summary")
    own = tool.action_type.model_fields
    given = {name: value for name, value in given.items() if name not in _EXTRAS or name in own}
    given = adapted(tool.name, given, [field.alias or name for name, field in own.items()])
    known = replace(
        read,
        arguments=given,
        summary=first_line(summary, 200) if isinstance(summary, str) else "",
        risk=_RISKS.get(risk, "UNKNOWN") if isinstance(risk, str) else "UNKNOWN",
    )
    try:
        action = tool.action_from_arguments(given)
    except ArgumentError as error:
        return _failed(known, str(error))
    return replace(known, action=action)


def _failed(read: ReadCall, why: str) -> ReadCall:
    return replace(read, error=well_formed(f"{read.tool} was not run: {why}"))
