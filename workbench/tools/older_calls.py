"""Arguments that earlier versions, and similar tools of other agents, took.

The agent adapts the arguments of a call before they are validated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any, TypeAlias

from workbench.lazy_pattern import lazy_pattern
from workbench.tools.execute_bash.keys import key_in_word, key_name

Arguments: TypeAlias = dict[str, Any]

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
    "delegate": {"agent_name": "agent", "subagent_type": "agent", "task": "inputs", "prompt": "inputs"},
}
"""The current name of a parameter, by tool and older name."""

_DELEGATED = lazy_pattern(
    r"(?:(?:functions?|tools?)[.:/])?delegate[_-]to[_-]([a-z0-9_-]{1,40}?)(?:[_-]agent)?", re.IGNORECASE
)


def sub_agent_in(name: str) -> str:
    """Return the kind of sub-agent in a tool's name, such as `delegate_to_browsing_agent`; empty if there is none."""
    match = _DELEGATED.fullmatch(name.strip())
    return match[1] if match else ""


_OUTCOMES = {"success": "true", "failure": "false", "failed": "false", "partial_success": "partial"}


def adapted(tool: str, arguments: Arguments, parameters: Collection[str]) -> Arguments:
    """Return the arguments with current names and values; the `parameters` of the tool itself are never renamed or
    lost.
    """
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
    """Adapt calls of earlier versions, which have a message in `outputs`, or an outcome instead of a message."""
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


class AmbiguousCall(ValueError):
    """A call can be read in more than one way; the message tells the model what to send."""


def inferred(tool: str, arguments: Arguments) -> tuple[Arguments, list[str]]:
    """Return the arguments with omitted ones inferred and other spellings corrected, and a note on each.

    Raises AmbiguousCall if the call can be read in several ways.
    """
    infer = _INFERRED.get(tool)
    return infer(arguments) if infer else (arguments, [])


_COMMANDS = {"old_str": "str_replace", "insert_line": "insert", "file_text": "create"}
_OTHER_COMMANDS = {"undo": "undo_edit", "replace": "str_replace", "edit": "str_replace", "write": "create"}


def _editor(arguments: Arguments) -> tuple[Arguments, list[str]]:
    """Infer a missing command from the other arguments, and adapt names that other editors have for commands."""
    command = arguments.get("command")
    command = None if command == "" else command
    if isinstance(command, str) and (name := _OTHER_COMMANDS.get(command.strip().lower())):
        return {**arguments, "command": name}, [f"`command` {command!r} as {name!r}"]
    if command is not None or "path" not in arguments:
        return arguments, []
    sent = {name: value for name, value in arguments.items() if value is not None and name != "command"}
    if any(sent.get(name) for name in _COMMANDS):
        sent = {name: value for name, value in sent.items() if value != "" or name not in _COMMANDS}
    present = sent.keys()
    commands = [name for parameter, name in _COMMANDS.items() if parameter in present]
    if not commands and present <= {"path", "view_range"}:
        commands = ["view"]
    if len(commands) != 1:
        raise AmbiguousCall(
            "`command` is missing, and the other arguments do not say which one is meant. Send one of: `view` with "
            "`path`, `create` with `file_text`, `str_replace` with `old_str` and `new_str`, `insert` with "
            "`insert_line` and `new_str`, `undo_edit` with `path`."
        )
    return {"command": commands[0], **sent}, [f"the missing `command` as {commands[0]!r}"]


def _terminal(arguments: Arguments) -> tuple[Arguments, list[str]]:
    """Replace the name of a key that is typed with the name that `execute_bash` has for it."""
    command = arguments.get("command")
    if arguments.get("is_input") not in (True, "true", "True") or not isinstance(command, str) or len(command) > 40:
        return arguments, []
    name = key_name(command)
    if not name and (meant := key_in_word(command)):
        return arguments, [f"`command` {command!r} as text (the key is {meant})"]
    if not name or name == command:
        return arguments, []
    is_word = command.isalpha() and command != command.upper()
    hint = f" (as text: {f'{command} '!r}, with a space)" if is_word else ""
    return {**arguments, "command": name}, [f"`command` {command!r} as the key {name}{hint}"]


_INFERRED: dict[str, Callable[[Arguments], tuple[Arguments, list[str]]]] = {
    "str_replace_editor": _editor,
    "execute_bash": _terminal,
}
