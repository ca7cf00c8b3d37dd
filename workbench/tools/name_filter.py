"""Filters tools by name with a regular expression, as `filter_tools_regex` of OpenHands' agents does."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from workbench.config.table import FILTER
from workbench.tools.manifest import ToolKind, kind_of
from workbench.tools.tool import ToolDefinition

_ALWAYS: Final[frozenset[ToolKind]] = frozenset({"thought", "final", "condensation"})
"""Kinds of tools that are never filtered out, because they reach nothing outside the session; OpenHands adds its own
`finish` and `think` after the filter.
"""
_NO_TOOL: Final = "zz-no-tool-has-this-name"


class NameFilter:
    """Decides whether a tool is offered: the pattern has to match the start of its name, as in OpenHands."""

    def __init__(self, pattern: str | None) -> None:
        """Compile the pattern, which the settings have checked; an empty one allows all tools."""
        self._pattern = re.compile(pattern) if pattern else None
        self._excludes = self._pattern is not None and self._pattern.match(_NO_TOOL) is not None

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> NameFilter:
        """Return the filter in `[tools]` of the settings."""
        return cls(table.get(FILTER))

    def allows(self, tool: ToolDefinition) -> bool:
        """Return whether the tool is offered.

        A tool of an MCP server has two names: its own and `server_tool`, which OpenHands uses once there are several
        servers. A pattern that matches unknown names is meant to exclude tools, so both names have to match; any other
        pattern is meant to select tools, so one matching name is enough.
        """
        if self._pattern is None or kind_of(tool.name) in _ALWAYS:
            return True
        passes = all if self._excludes else any
        return passes(self._pattern.match(name) is not None for name in _names(tool))


def _names(tool: ToolDefinition) -> list[str]:
    server = getattr(tool, "server", "") if tool.is_remote else ""
    if not server:
        return [tool.name]
    definition = getattr(tool, "definition", None) or {}
    return [tool.name, f"{server}_{definition.get('name', tool.name)}"]
