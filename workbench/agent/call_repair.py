"""Repair of a tool call whose JSON is valid: the tool's name, the names of parameters, wrapper objects, the risk."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, Final

from workbench.lazy_pattern import lazy_pattern
from workbench.protocol.risk import Risk
from workbench.suggest import edit_distance
from workbench.tools.delegate import NAME as DELEGATE
from workbench.tools.older_calls import sub_agent_in
from workbench.tools.registry import builtin_names, resolve_alias
from workbench.tools.tool import ToolDefinition

_EXTRAS: Final = ("security_risk", "summary")
_RISK_NAMES: Final = frozenset({"risk", "risk_level", "security", "security_level"})
_WRAPPERS: Final = frozenset({"arguments", "parameters", "input", "params", "args", "kwargs"})
_RISKS: Final[dict[str, Risk]] = {"LOW": "LOW", "MEDIUM": "MEDIUM", "HIGH": "HIGH"}
_OPENING: Final = lazy_pattern(
    r"<(?:function|invoke|tool)\b[^A-Za-z]{0,9}(?:name\s{0,9}=)?\s{0,9}[\"']?", re.IGNORECASE
)
_REST: Final = lazy_pattern(r"[<>\n\"'(|\[\s].*|:\d{1,9}\Z", re.DOTALL)
_NAMESPACE: Final = lazy_pattern(r"(?:functions?|tools?|default_api|api|multi_tool_use)[.:/]", re.IGNORECASE)
_INVISIBLE: Final = lazy_pattern("[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]")
_MOST_EDITS: Final = 2


def tool_named(name: str, tools: Mapping[str, ToolDefinition]) -> tuple[str, bool]:
    """Return the name of the tool that `name` refers to, and whether it had to be repaired; an unknown name is returned
    stripped.

    Differences in tags, namespaces, case and separators are repaired if exactly one tool matches. Spelling is not
    repaired.
    """
    own = name.strip()
    plain = own if own in tools else DELEGATE if sub_agent_in(own) and DELEGATE in tools else resolve_alias(own)
    if plain in tools:
        return plain, False
    head = _INVISIBLE.sub("", name).strip()[:200]
    opening = _OPENING.match(head)
    head = _REST.sub("", head[opening.end() :] if opening else head.lstrip("<"))
    namespace = _NAMESPACE.match(head)
    head = head[namespace.end() :] if namespace else head
    meant = {each for each in tools if _bare(each) == _bare(head)} | (
        {resolve_alias(head.lower()), builtin_names().get(head, "")} & tools.keys()
    )
    return (meant.pop(), True) if head and len(meant) == 1 else (plain, False)


def _bare(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def is_open(tool: ToolDefinition) -> bool:
    """Return whether the tool accepts parameters that its schema does not name."""
    schema = tool.schema
    return bool(schema.get("additionalProperties")) or bool(schema.get("patternProperties"))


def repaired_names(
    arguments: dict[str, Any], parameters: Collection[str], tool: str, *, is_open: bool
) -> tuple[dict[str, Any], list[str]]:
    """Return the arguments unwrapped and with misspelled parameter names corrected, and a note on each repair.

    A tool that accepts any parameter (`is_open`) gets its arguments unchanged.
    """
    notes: list[str] = []
    if not is_open:
        inside = _unwrapped(arguments, parameters, tool)
        if inside is not arguments:
            notes.append("the object inside as the arguments")
            arguments = inside
        for name in [each for each in arguments if each not in parameters and each not in _EXTRAS]:
            meant = _parameter(name, parameters)
            extra = "" if meant or not isinstance(arguments[name], str) else _extra(name)
            if extra in parameters or (meant or extra or name) in arguments:
                continue
            arguments, note = _renamed(arguments, name, meant or extra, is_extra=not meant)
            notes.append(note)
    return arguments, notes


def _renamed(arguments: dict[str, Any], name: str, meant: str, *, is_extra: bool) -> tuple[dict[str, Any], str]:
    """Return the arguments with `name` replaced by `meant`, and a note.

    A risk under a misspelled name is dropped unless it is HIGH.
    """
    note = f"`{name[:40]}` as `{meant}`"
    if is_extra and meant == "security_risk" and risk_of(arguments[name])[0] != "HIGH":
        rest = {key: value for key, value in arguments.items() if key != name}
        return rest, f"{note} UNKNOWN (only {meant!r} itself gives another rating than HIGH)"
    return {meant if key == name else key: value for key, value in arguments.items()}, note


def _parameter(name: str, parameters: Collection[str]) -> str:
    """Return the only parameter that equals `name` apart from case, separators, and quotes or brackets around it.

    Returns an empty string if there is none, or more than one.
    """
    plain = _bare(name.strip(" \t\n\"'`<>")[:80])
    meant = [each for each in parameters if _bare(each) == plain]
    return meant[0] if len(meant) == 1 else ""


def _unwrapped(arguments: dict[str, Any], parameters: Collection[str], tool: str) -> dict[str, Any]:
    """Return the object inside a wrapper such as `{"arguments": {…}}`, or `arguments` itself if there is no wrapper.

    Beside the wrapped object there may only be the risk, the summary and the tool's name.
    """
    rest = {name: value for name, value in arguments.items() if name not in _EXTRAS or name in parameters}
    if rest.get("name") == tool and "name" not in parameters:
        del rest["name"]
    if len(rest) != 1 or (name := next(iter(rest))) not in _WRAPPERS or name in parameters:
        return arguments
    inside = rest[name]
    extras = {key: value for key, value in arguments.items() if key in _EXTRAS and key not in parameters}
    return {**extras, **inside} if isinstance(inside, dict) else arguments


def _extra(name: str) -> str:
    """Return `security_risk` or `summary` if the name is a misspelling of it, else an empty string."""
    plain = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.strip()[:40]).lower().replace("-", "_").replace(" ", "_")
    if plain in _RISK_NAMES:
        return "security_risk"
    return next((each for each in _EXTRAS if edit_distance(plain, each) <= _MOST_EDITS), "")


def risk_of(value: object) -> tuple[Risk, list[str]]:
    """Return the risk that a model's value means, and a list with a note if the value is not one of the three words.

    Only HIGH is recognized in other spellings. Anything else becomes UNKNOWN; the user is then asked more often than
    with LOW or MEDIUM.
    """
    if value is None or value == "UNKNOWN":
        return "UNKNOWN", []
    taken = f"`security_risk` {str(value)[:40]!r} as UNKNOWN (write LOW, MEDIUM or HIGH)"
    if not isinstance(value, str):
        return "UNKNOWN", [taken]
    if value in _RISKS:
        return _RISKS[value], []
    words = [word for word in re.findall(r"[A-Za-z]{1,20}", value[:40].upper()) if word != "RISK"]
    if len(words) == 1 and len(words[0]) >= 4 and edit_distance(words[0], "HIGH") <= _MOST_EDITS:
        return "HIGH", [f"`security_risk` {value[:40]!r} as HIGH"]
    return "UNKNOWN", [taken]
