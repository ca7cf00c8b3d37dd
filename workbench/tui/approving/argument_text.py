"""Arguments as text that a person can edit, and back: a command as it is, anything else as JSON. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from workbench.errors import WorkbenchError
from workbench.tui.wording.summaries import SHELL_TOOL


def argument_text(tool: str, arguments: Mapping[str, Any]) -> tuple[str, str]:
    """A title and the text to edit."""
    if _is_command(tool, arguments):
        return "The command", str(arguments["command"])
    return "The arguments, as JSON", json.dumps(dict(arguments), ensure_ascii=False, indent=2, default=str)


def arguments_from(tool: str, arguments: Mapping[str, Any], text: str) -> dict[str, Any]:
    """The arguments that the edited text says; raises WorkbenchError with one line when it says none."""
    if _is_command(tool, arguments):
        if not text.strip():
            raise WorkbenchError("there is no command")
        return {**arguments, "command": text}
    try:
        found = json.loads(text)
    except ValueError as error:
        raise WorkbenchError(f"not JSON: {error}") from error
    if not isinstance(found, dict):
        raise WorkbenchError("the arguments are one object, in braces")
    return found


def _is_command(tool: str, arguments: Mapping[str, Any]) -> bool:
    return tool == SHELL_TOOL and isinstance(arguments.get("command"), str)
