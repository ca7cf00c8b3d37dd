"""What rules are matched against: an action with its commands and paths."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from workbench.risk.actions import named_paths
from workbench.risk.assessment import Assessment, Part
from workbench.tools.execute_bash import NAME as SHELL


@dataclass(frozen=True)
class Subject:
    """One action: its tool, what the analysis found in it, and the absolute paths it names."""

    tool: str
    arguments: Mapping[str, Any]
    parts: tuple[Part, ...]
    paths: tuple[str, ...]
    workspace: str
    home: str
    server_tool: str = ""
    """For a tool of a server, `SERVER/TOOL` as the server names it."""

    def is_tool(self, pattern: str) -> bool:
        """Whether an `ask` or `deny` rule for tools of this pattern means its tool; an empty pattern means all."""
        return not pattern or any(fnmatchcase(name, pattern) for name in (self.tool, self.server_tool) if name)

    def is_ruled_tool(self, pattern: str, command: str) -> bool:
        """Whether an `ask` or `deny` rule for this tool and command means its tool.

        A rule for commands of the shell means every tool that runs commands.
        """
        return self.is_tool(pattern) or bool(command and pattern == SHELL and self.commands)

    def is_allowed_tool(self, name: str) -> bool:
        """Whether an `allow` rule for this tool means its tool: one of a server only with the name of the server.

        Another server may offer a tool of the same name tomorrow.
        """
        if not self.server_tool:
            return not name or fnmatchcase(self.tool, name)
        server = self.server_tool.partition("/")[0]
        return name in {self.server_tool, f"{server}/{self.tool}"}

    @property
    def is_shell(self) -> bool:
        """Whether it is a command line."""
        return self.tool == SHELL

    @property
    def commands(self) -> tuple[Part, ...]:
        """The commands that it runs; for a command line with its redirects and all else in it."""
        return self.parts if self.is_shell else tuple(part for part in self.parts if part.words)

    @property
    def protected(self) -> tuple[str, ...]:
        """Protected paths that it changes or deletes."""
        return tuple(dict.fromkeys(path for part in self.parts for path in part.protected))

    @property
    def command(self) -> str:
        """The whole command line; of another tool that runs commands a line for each."""
        if self.is_shell:
            return str(self.arguments.get("command", ""))
        return "\n".join(part.text for part in self.commands)


def subject_of(
    tool: str, arguments: Mapping[str, Any], assessment: Assessment, workspace: str, home: str = ""
) -> Subject:
    """The action for the rules, from what the analysis says of it."""
    named = named_paths(arguments, workspace) if tool != SHELL else []
    result = (path for part in assessment.parts for path in part.paths)
    paths = tuple(dict.fromkeys((*result, *named)))
    home = home or os.path.expanduser("~")  # noqa: PTH111 - text in, text out
    return Subject(tool, arguments, assessment.parts, paths, workspace, home, assessment.server_tool)
