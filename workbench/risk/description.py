"""Rates actions described in JSON as `{"kind": …, "input": …}`; used by `ohw risk`."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from workbench.lazy_pattern import lazy_pattern
from workbench.risk.actions import assess_file, assess_foreign
from workbench.risk.assessment import Assessment, has_markup_action, hides, one
from workbench.risk.paths import PathContext, within
from workbench.risk.reason import Reason, Trait

_WEAKENS = lazy_pattern(r"base_url|api_base|confirm|mode|rules|hooks|mcp|command|proxy|api_key|key_command", re.I)
_PROVIDER = lazy_pattern(r"^\s*(?:export\s+)?\w*(?:PROXY|API_KEY|BASE_URL|API_BASE|TOKEN)\w*\s*=", re.I | re.M)
_INCLUDE = lazy_pattern(r"(?:^|\s)@((?:/|~|\.\./)\S+)")
_LINK = lazy_pattern(r"(\S+) -> (/\S+)")


def assess_line(line: str, context: PathContext) -> Assessment:
    """Rate one JSON line; a line that cannot be read is HIGH. Never raises."""
    try:
        read = json.loads(line)
        rate = _KINDS[read["kind"]]
        return rate(read["input"], context)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        return one("HIGH", Reason(f"cannot be read ({type(error).__name__})", Trait.UNREAD), line)


def _bash(command: str, context: PathContext) -> Assessment:
    from workbench.risk.commands import assess_command

    return assess_command(command, context)


def _python(code: str, context: PathContext) -> Assessment:
    from workbench.risk.cells import assess_python

    return assess_python(code, context)


def _cell(code: str, context: PathContext) -> Assessment:
    from workbench.risk.cells import assess_cell

    return assess_cell(code, context)


def _typed(described: Mapping[str, Any], context: PathContext) -> Assessment:
    """Rate a text that is typed into a running program, which is described by its command line."""
    from workbench.risk.terminal_input import Waiting, assess_typed

    waiting = Waiting(tuple(shlex.split(str(described["program"]))), context.workspace)
    return assess_typed(str(described["text"]), [waiting], context, context.workspace)


def _file(described: Mapping[str, Any], context: PathContext) -> Assessment:
    """Rate a file action; `setup` may describe a link to assume, for example `lib -> /somewhere`."""
    link = _LINK.search(str(described.get("setup", "")))
    if link:
        name = link[1] if link[1].startswith("/") else f"{context.workspace}/{link[1]}"
        context = PathContext(context.workspace, context.home, {name: link[2]})
    return assess_file(str(described["op"]), str(described["path"]), context)


def _mcp(described: Mapping[str, Any], context: PathContext) -> Assessment:
    return assess_foreign(described)


def _terminal(described: Mapping[str, Any], context: PathContext) -> Assessment:
    """Rate a text to be shown in the terminal: HIGH if it would do anything beyond being displayed."""
    text = str(described["text"])
    hidden = hides(text, colors=True) or ("would become something to click" if has_markup_action(text) else "")
    return one("HIGH", hidden, text) if hidden else Assessment("LOW")


def _config(described: Mapping[str, Any], context: PathContext) -> Assessment:
    """Rate a settings file that a workspace contains: HIGH if it has settings that only the user may change."""
    path, content = str(described["path"]), str(described["content"])
    hidden = hides(content)
    if hidden:
        return one("HIGH", hidden, path)
    if path.startswith(".ohw/") and _WEAKENS.search(content):
        return one("HIGH", "a directory may not change how the agent is reached or confirmed", path)
    if path.rpartition("/")[2].startswith(".env") and _PROVIDER.search(content):
        return one("HIGH", "a directory may not change how the provider is reached", path)
    for result in _INCLUDE.findall(content):
        position = result.replace("~", context.home, 1) if result.startswith("~") else f"{context.workspace}/{result}"
        if not within(context.resolved(result if result.startswith("/") else position), context.workspace):
            return one("HIGH", "includes a file outside the workspace", path)
    return one("MEDIUM", "brings settings along", path) if path.startswith(".ohw/") else Assessment("LOW")


_KINDS: dict[str, Callable[[Any, PathContext], Assessment]] = {
    "bash": _bash,
    "python": _python,
    "cell": _cell,
    "typed": _typed,
    "file": _file,
    "mcp": _mcp,
    "terminal": _terminal,
    "config": _config,
}
