"""Which tools are wanted: the set, and over it the lines of `[tools]` in the settings; used by `selection`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workbench.errors import UsageError
from workbench.suggest import nearest
from workbench.tools.builtin import BUILTIN_TOOLS
from workbench.tools.registry import list_registered_tools, resolve_alias


@dataclass(frozen=True)
class Choice:
    """Whether a tool is wanted, and why."""

    name: str
    is_on: bool
    why: str
    params: Mapping[str, Any] = field(default_factory=dict)
    only_reading: bool = False


def choose(table: Mapping[str, Any], own: Sequence[str] = ()) -> tuple[list[Choice], list[str]]:
    """A choice for every tool, a line for every name that is none; raises UsageError for one that looks misspelt."""
    only_reading = table.get("set") == "plan"
    by_default = (*BUILTIN_TOOLS, *own)
    names = dict.fromkeys((*BUILTIN_TOOLS, *list_registered_tools(), *own))
    lines, unknown = _lines(table, names)
    choices = [
        _chosen(name, lines[name])
        if name in lines
        else Choice(name, name in by_default, _why(name in by_default, only_reading), only_reading=only_reading)
        for name in names
    ]
    return choices, unknown


def _lines(table: Mapping[str, Any], names: Iterable[str]) -> tuple[dict[str, Any], list[str]]:
    """The lines of the table by the tools' own names."""
    found: dict[str, Any] = {}
    unknown = []
    for key, value in table.items():
        name = resolve_alias(key)
        if key == "set":
            continue
        if name in found:
            raise UsageError(f"tools.{key} says again what to do with {name}; keep one of the lines")
        if name in names:
            found[name] = value
        elif near := nearest(name, names, 0.8):
            raise UsageError(f"tools.{key}: there is no such tool; did you mean {near}?")
        else:  # it may be a tool of another folder
            unknown.append(f"tools.{key}: there is no such tool here")
    return found, unknown


def _chosen(name: str, line: bool | dict[str, Any]) -> Choice:
    params = dict(line) if isinstance(line, dict) else {}
    is_on = params.pop("on", True) if isinstance(line, dict) else line
    if not isinstance(is_on, bool):
        raise UsageError(f"tools.{name}.on must be true or false, not {is_on!r}")
    return Choice(name, is_on, "your settings", params)


def _why(is_on: bool, only_reading: bool) -> str:
    if not is_on:
        return "by default"
    return 'the set "plan"' if only_reading else "by default"
