"""ohw: a terminal workbench for coding agents.

A program imports the agent from here, and its tools from `workbench.tools`: `from workbench import Agent, tool`. Names
load on first use; `workbench.sdk` has the names of the agent again, for type checkers.
"""

# Nothing is imported here: this runs before `python -m workbench` has removed the start directory from the path, and
# that directory may hold anybody's modules of the same names.

__version__ = "0.1.0"
_SDK = (
    *("Agent", "ApprovalRequest", "Conversation", "LLM", "RunResult", "ToolCallAgent", "ToolCollection"),
    *("ToolChoice", "get_logger", "tool", "tool_from_function"),
)
_TOOLS = (
    *("Action", "BaseTool", "ImageContent", "Observation", "TextContent", "Tool", "ToolAnnotations", "ToolDefinition"),
    *("ToolExecutor", "ToolResult", "register_tool", "unregister_tool", "list_registered_tools", "resolve_tool"),
    *("BashTool", "FileEditorTool", "TaskTrackerTool"),
)


def __getattr__(name: str) -> object:
    if name not in _SDK and name not in _TOOLS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.sdk" if name in _SDK else f"{__name__}.tools"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_SDK, *_TOOLS})
