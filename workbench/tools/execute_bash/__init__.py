"""The tool `execute_bash`: a persistent shell whose directory, variables and functions last between calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from workbench.protocol.presentation import Presentation
from workbench.tools.exports import exports_of
from workbench.tools.manifest import Manifest

NAME = "execute_bash"
OUTPUTS = "outputs"
"""The name of the directory, below that of the session, for files with complete outputs."""
_COMMAND = Presentation(
    icon="$", noun="command", headline="{command:exact}", title="$ {command:exact}", subject="command"
)
_INPUT = replace(_COMMAND, headline="input: {command:exact}", title="Type {command:exact}")
_RESET = replace(_COMMAND, headline="restart the shell", title="Restart the shell")
_POLL = replace(_COMMAND, headline="wait for more output", title="Wait for more output")


def _variant(arguments: Mapping[str, Any]) -> Presentation:
    if arguments.get("is_input") in (True, "true"):
        return _INPUT
    if str(arguments.get("command", "")).strip():
        return _COMMAND
    return _RESET if arguments.get("reset") else _POLL


MANIFEST = Manifest("definition:BashTool", "command", _COMMAND, _variant)

__getattr__, __dir__, __all__ = exports_of(__name__)
