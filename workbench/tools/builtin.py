"""The tools that are on unless the settings say otherwise; `open_tools` gives them to a program without a session."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.tools.context import ConversationState
from workbench.tools.registry import Tool, resolve_tool
from workbench.tools.tool import ToolDefinition

BUILTIN_TOOLS: tuple[str, ...] = (
    "execute_bash",
    "str_replace_editor",
    "glob",
    "grep",
    "web_read",
    "find_tools",
    "task_tracker",
    "think",
    "ask_human",
    "delegate",
    "request_condensation",
    "finish",
)


def open_tools(context: ConversationState, names: Sequence[str] = BUILTIN_TOOLS) -> dict[str, ToolDefinition]:
    """The named tools by their names, ready to run; whoever opens them closes them.

    A tool's code is imported only when it is among them.
    """
    opened: dict[str, ToolDefinition] = {}
    try:
        for name in names:
            opened |= {tool.name: tool for tool in resolve_tool(Tool(name), context)}
    except BaseException:
        for tool in opened.values():
            tool.close()
        raise
    return opened
