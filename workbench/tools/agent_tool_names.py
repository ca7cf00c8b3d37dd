"""Names of tools in the definitions of agents: current and older names, class names, names in OpenHands and Claude
Code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from workbench.tools.registry import builtin_names
from workbench.tools.tool import ToolDefinition

EVERY: Final = frozenset({"*", "all", "inherit"})
"""Names that stand for all tools."""
EDITOR: Final = "str_replace_editor"
READ_ONLY: Final = ("execute_bash", EDITOR, "glob", "grep")
"""The tools of an agent that only reads a project; with the shell and the editor, it can make calls that only read."""
WEB: Final = ("browser", "web_read")
"""The tools that read pages of the web."""
_CLAUDE: Final = {
    "read": EDITOR,
    "ls": EDITOR,
    "notebookread": EDITOR,
    "write": EDITOR,
    "edit": EDITOR,
    "multiedit": EDITOR,
    "notebookedit": EDITOR,
    "webfetch": "web_read",
    "todowrite": "task_tracker",
    "todoread": "task_tracker",
    "askuserquestion": "ask_human",
}
_READS: Final = frozenset({"read", "ls", "notebookread"})
_WRITES: Final = frozenset({"write", "edit", "multiedit", "notebookedit"})


def plain_name(name: str) -> str:
    """Return a name in the form in which names are compared: in lower case, without separators."""
    return re.sub(r"[^a-z0-9*]", "", name.lower())


@cache
def _builtin() -> Mapping[str, str]:
    return {plain_name(alias): name for alias, name in builtin_names().items()} | _CLAUDE


def builtin_named(name: str) -> str:
    """Return the name of the built-in tool that a name stands for, or an empty string."""
    return _builtin().get(plain_name(name), "")


def is_reading_name(name: str) -> bool:
    """Return whether the name is another agent's name for a tool that only reads, while our tool can also write."""
    return plain_name(name) in _READS


def is_writing_name(name: str) -> bool:
    """Return whether the name is another agent's name for a tool that only writes, while our tool can also read."""
    return plain_name(name) in _WRITES


def server_and_tool(name: str) -> tuple[str, str]:
    """Return SERVER and TOOL of a name such as `mcp__SERVER__TOOL` or `SERVER/TOOL`; `*` means all tools of the server.

    Both are empty for any other name.
    """
    if name.startswith("mcp__"):
        server, _, tool = name[5:].partition("__")
        return server, tool or "*"
    server, slash, tool = name.partition("/")
    return (server, tool or "*") if slash else ("", "")


def mcp_name(tool: ToolDefinition) -> str:
    """Return `mcp__SERVER__TOOL` for a tool of an MCP server; empty for any other tool."""
    definition = getattr(tool, "definition", None)
    own = str(definition.get("name", "")) if isinstance(definition, Mapping) else ""
    return f"mcp__{getattr(tool, 'server', '')}__{own}" if own else ""


def means(name: str, tool: ToolDefinition) -> bool:
    """Return whether a name in an agent's definition refers to this tool."""
    server, server_tool = server_and_tool(name)
    if server:
        definition = getattr(tool, "definition", None)
        own = str(definition.get("name", "")) if isinstance(definition, Mapping) else ""
        is_server = plain_name(str(getattr(tool, "server", ""))) == plain_name(server)
        return is_server and server_tool in ("*", own, tool.name)
    own_name = builtin_named(name)
    return name in EVERY or (tool.name == own_name if own_name else plain_name(tool.name) == plain_name(name))
