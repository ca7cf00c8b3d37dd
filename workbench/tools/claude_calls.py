"""Translates tool calls to Claude Code's names and back, for hooks that were written for Claude Code.

Source: the tools and their inputs in https://docs.claude.com/en/docs/claude-code/hooks and
https://docs.claude.com/en/docs/claude-code/settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_EDITOR: Final = "str_replace_editor"
_FIELDS: Final[Mapping[str, Mapping[str, str]]] = {
    "Bash": {"command": "command"},
    "Read": {"file_path": "path"},
    "Write": {"file_path": "path", "content": "file_text"},
    "Edit": {"file_path": "path", "old_string": "old_str", "new_string": "new_str"},
    "Glob": {"pattern": "pattern", "path": "path"},
    "Grep": {"pattern": "pattern", "path": "path", "glob": "include"},
    "WebFetch": {"url": "url"},
    "Task": {"prompt": "inputs", "subagent_type": "agent"},
}
"""For each tool of Claude Code, its arguments, each with the name of ours."""
_TOOLS: Final = {
    "execute_bash": "Bash",
    "glob": "Glob",
    "grep": "Grep",
    "web_read": "WebFetch",
    "delegate": "Task",
    "edit_file": "Edit",
    "task_tracker": "TodoWrite",
    "ask_human": "AskUserQuestion",
}
_EDITS: Final = {"view": "Read", "create": "Write"}


def tool_name(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return Claude Code's name for the tool of a call; our own name if Claude Code has no such tool."""
    if tool == _EDITOR:
        return _EDITS.get(str(arguments.get("command")), "Edit")
    return _TOOLS.get(tool, tool)


def tool_input(tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return a call's arguments with Claude Code's names; unchanged if Claude Code has no such tool."""
    fields = _FIELDS.get(tool_name(tool, arguments))
    if fields is None:
        return dict(arguments)
    return {theirs: arguments[ours] for theirs, ours in fields.items() if arguments.get(ours) is not None}


def arguments_of(tool: str, arguments: Mapping[str, Any], updated: Mapping[str, Any]) -> dict[str, Any]:
    """Return our arguments, changed as a hook changed Claude Code's input; entries that we do not have are ignored."""
    fields = _FIELDS.get(tool_name(tool, arguments))
    if fields is None:
        return dict(updated)
    return {**arguments, **{fields[name]: value for name, value in updated.items() if name in fields}}
