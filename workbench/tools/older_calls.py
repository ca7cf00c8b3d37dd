"""Tool names and arguments of earlier versions, and of similar tools in other agents.

`registry` resolves names with it; the agent adapts the arguments of a call before they are validated.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, TypeAlias

Arguments: TypeAlias = dict[str, Any]

OLDER_NAMES: dict[str, str] = {
    "bash": "execute_bash",
    "terminal": "execute_bash",
    "file_editor": "str_replace_editor",
    "str_replace": "str_replace_editor",
    "str_replace_based_edit_tool": "str_replace_editor",
    "terminate": "finish",
}
"""The current name of a tool, by its older name."""

OLDER_ARGUMENTS: dict[str, dict[str, str]] = {
    "execute_bash": {"cmd": "command", "restart": "reset", "timeout_seconds": "timeout"},
    "str_replace_editor": {
        "file_path": "path",
        "filename": "path",
        "content": "file_text",
        "old_string": "old_str",
        "new_string": "new_str",
        "insert_text": "new_str",
    },
    "task_tracker": {"tasks": "task_list", "plan": "task_list"},
    "finish": {"final_thought": "message", "answer": "message", "status": "task_completed"},
    "think": {"content": "thought"},
    "glob": {"glob_pattern": "pattern", "directory": "path"},
    "grep": {"regex": "pattern", "query": "pattern", "directory": "path", "glob": "include"},
    "edit_file": {"filepath": "path", "file_path": "path"},
    "execute_ipython_cell": {"source": "code"},
    "python_execute": {"source": "code"},
    "ask_human": {"inquire": "question"},
    "web_read": {"link": "url"},
    "delegate": {"agent_name": "agent", "task": "inputs"},
}
"""The current name of a parameter, by tool and older name."""

_OUTCOMES = {"success": "true", "failure": "false", "failed": "false", "partial_success": "partial"}


def adapted(tool: str, arguments: Arguments, parameters: Collection[str]) -> Arguments:
    """Return the arguments with current names and values; the tool's own `parameters` are never renamed or lost."""
    renamed = _renamed(arguments, OLDER_ARGUMENTS.get(tool, {}), parameters)
    shape = _SHAPES.get(tool)
    return shape(renamed) if shape else renamed


def _renamed(arguments: Arguments, older: dict[str, str], parameters: Collection[str]) -> Arguments:
    if arguments.keys().isdisjoint(older):
        return arguments
    taken = set(arguments)
    renamed: Arguments = {}
    for name, value in arguments.items():
        today = older.get(name, name)
        is_older = name not in parameters and today in parameters and today not in taken
        renamed[today if is_older else name] = value
        taken.add(today if is_older else name)
    return renamed


def _shell(arguments: Arguments) -> Arguments:
    """Add an empty command to a reset, which had none in earlier versions."""
    return {"command": "", **arguments} if arguments.get("reset") in (True, "true") else arguments


def _finished(arguments: Arguments) -> Arguments:
    """Convert an outcome without a message, or a message among outputs, of earlier versions."""
    shaped = dict(arguments)
    outputs = shaped.get("outputs")
    if isinstance(outputs, dict) and isinstance(outputs.get("content"), str) and "message" not in shaped:
        shaped["message"] = shaped.pop("outputs")["content"]
    outcome = shaped.get("task_completed")
    if isinstance(outcome, str) and outcome.lower() in _OUTCOMES:
        shaped["task_completed"] = _OUTCOMES[outcome.lower()]
        shaped.setdefault("message", f"The task ended with: {outcome.lower()}.")
    return shaped


_SHAPES: dict[str, Callable[[Arguments], Arguments]] = {"execute_bash": _shell, "finish": _finished}
