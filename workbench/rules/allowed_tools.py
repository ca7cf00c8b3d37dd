"""The tools that a custom command allows: until the user's next message, an action with any other tool is denied.

The list never allows anything by itself: risk, mode and rules still decide on an action with a listed tool.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from workbench.lazy_pattern import lazy_pattern
from workbench.protocol.events import CustomCommand
from workbench.rules.policy import Ruling
from workbench.rules.rule import Rule
from workbench.rules.rule_matching import covers
from workbench.rules.subject import Subject
from workbench.text import visible, well_formed
from workbench.tools.agent_tool_names import is_reading_name, means
from workbench.tools.manifest import ToolKind, kind_of
from workbench.tools.tool import ToolDefinition

_ALWAYS: Final[frozenset[ToolKind]] = frozenset({"plan", "thought", "question", "final", "condensation"})
"""Kinds of tools that reach nothing outside the session."""
_PATTERN: Final = lazy_pattern(r"([^()]+)\((.*)\)", re.DOTALL)
_ANY: Final = lazy_pattern(r"\((?:\*|:\*)?\)\Z")
"""The pattern that matches everything."""


def limit_of(command: CustomCommand | None, subject: Subject, tool: ToolDefinition, *, reads: bool) -> Ruling | None:
    """Return the denial of an action that the custom command in the last message does not allow; None if it allows it.

    `reads` means that the call changes nothing.
    """
    if command is None or command.tools is None or kind_of(tool.name) in _ALWAYS:
        return None
    if any(_allows(written, tool, reads=reads) for written in command.tools):
        return None
    rules = [rule for written in command.tools for rule in _rules(written, tool)]
    if covers(rules, subject) is not None:
        return None
    name = visible(command.name, lines=False)
    reason = f"{tool.name} was not run: {limit_notice(command)[1:-1]} Do without it, or say what is missing."
    return Ruling("deny", f"/{name}, which allows other tools", reason, by="rule")


def limit_notice(command: CustomCommand) -> str:
    """Return the line that tells the model what a command allows."""
    listed = ", ".join(command.tools or ()) or "none"
    return (
        f"[/{well_formed(command.name)} allows only these tools, in the notation of its author: {well_formed(listed)}.]"
    )


def _allows(written: str, tool: ToolDefinition, *, reads: bool) -> bool:
    """Return whether a tool name without a pattern allows the call; the name of a reading tool, such as `Read`, allows
    only calls that change nothing.
    """
    name = _ANY.sub("", written)
    return "(" not in name and means(name, tool) and (reads or tool.is_read_only or not is_reading_name(name))


def _rules(written: str, tool: ToolDefinition) -> Iterator[Rule]:
    """Yield the rules that a pattern for a command stands for: `Bash(git add:*)` allows `git add` with any arguments.

    Patterns for other tools are not supported, and allow nothing.
    """
    match = _PATTERN.fullmatch(written)
    if match is None or kind_of(tool.name) != "command" or not means(match[1].strip(), tool):
        return
    pattern = match[2].strip()
    if pattern.endswith(":*"):
        yield Rule("allow", tool.name, command=pattern[:-2])
        yield Rule("allow", tool.name, command=f"{pattern[:-2]} *")
    else:
        yield Rule("allow", tool.name, command=pattern)
