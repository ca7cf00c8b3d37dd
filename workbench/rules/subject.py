"""What rules are matched against: an action with its commands and paths."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final

from workbench.risk.actions import named_paths
from workbench.risk.assessment import Assessment, Part
from workbench.tools.execute_bash import NAME as SHELL
from workbench.tools.manifest import kind_of

EDITS: Final = "edits"
"""The tool name that stands for all built-in editors, and for redirects of commands, in an `allow` rule."""

NETWORK: Final = "network"
"""The tool name that stands for connections from the sandbox, in rules and logs."""

SANDBOX_WRITE: Final = "sandbox_write"
"""The tool name that stands for writes of sandboxed commands, in an `allow` rule for a directory."""


@dataclass(frozen=True)
class Subject:
    """One action: its tool, the parts that the risk analysis found, and the absolute paths that it names."""

    tool: str
    arguments: Mapping[str, Any]
    parts: tuple[Part, ...]
    paths: tuple[str, ...]
    workspace: str
    home: str
    server_tool: str = ""
    """For a tool of an MCP server, `SERVER/TOOL` with the server's own name for the tool; otherwise empty."""

    def is_tool(self, pattern: str) -> bool:
        """Return whether the tool pattern of an `ask` or `deny` rule matches; an empty pattern matches all tools."""
        return not pattern or any(fnmatchcase(name, pattern) for name in (self.tool, self.server_tool) if name)

    def is_ruled_tool(self, pattern: str, command: str) -> bool:
        """Return whether the tool pattern and command pattern of an `ask` or `deny` rule select this tool.

        A rule for shell commands selects every tool that runs commands.
        """
        return self.is_tool(pattern) or bool(command and pattern == SHELL and self.commands)

    def is_allowed_tool(self, name: str) -> bool:
        """Return whether the tool of an `allow` rule is this tool.

        For a tool of an MCP server, the rule must name the server too: otherwise a tool with the same name on another
        server would be allowed.
        """
        if name == EDITS:
            return kind_of(self.tool) == "edit"
        if not self.server_tool:
            return not name or fnmatchcase(self.tool, name)
        server = self.server_tool.partition("/")[0]
        return name in {self.server_tool, f"{server}/{self.tool}"}

    @property
    def is_shell(self) -> bool:
        """Whether the action is a command line."""
        return self.tool == SHELL

    @property
    def commands(self) -> tuple[Part, ...]:
        """The parts that are commands; for a command line all parts, including redirects."""
        return self.parts if self.is_shell else tuple(part for part in self.parts if part.words)

    @property
    def protected(self) -> tuple[str, ...]:
        """The protected paths that the action changes or deletes."""
        return tuple(dict.fromkeys(path for part in self.parts for path in part.protected))

    @property
    def command(self) -> str:
        """The whole command line; for another tool that runs commands, one line for each command."""
        if self.is_shell:
            return str(self.arguments.get("command", ""))
        return "\n".join(part.text for part in self.commands)


def subject_of(
    tool: str, arguments: Mapping[str, Any], assessment: Assessment, workspace: str, home: str = ""
) -> Subject:
    """Return the subject for an action with this assessment; `home` defaults to the user's home directory."""
    named = named_paths(arguments, workspace) if tool != SHELL else []
    result = (path for part in assessment.parts for path in part.paths)
    paths = tuple(dict.fromkeys((*result, *named)))
    home = home or os.path.expanduser("~")  # noqa: PTH111 - text in, text out
    return Subject(tool, arguments, assessment.parts, paths, workspace, home, assessment.server_tool)
