"""The public names of the tools: where each is defined, so that a package can load it on first use.

The package `workbench.tools` exports all of them, and the package of each tool its own.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final, TypeAlias

from workbench.tools.older_names import OLDER_NAMES as OLDER_NAMES

ROOT: Final = "workbench.tools"
EXPORTS: Final[dict[str, tuple[str, ...]]] = {
    "arguments": ("ArgumentError",),
    "base_tool": ("BaseTool", "CLIResult", "ToolFailure", "ToolResult"),
    "collection": ("ToolCollection",),
    "functions": ("tool_from_function",),
    "ask_human.definition": (
        "AskHumanAction",
        "AskHumanExecutor",
        "AskHumanObservation",
        "AskHumanTool",
    ),
    "browser.definition": (
        "BrowserAction",
        "BrowserObservation",
        "BrowserTool",
    ),
    "browser.impl": ("BrowserExecutor",),
    "coercion": ("FunctionExecutor", "ToolError"),
    "context": (
        "Answer",
        "Completion",
        "CompletionError",
        "ConversationState",
        "ToolContext",
    ),
    "create_chat_completion.definition": (
        "CreateChatCompletionAction",
        "CreateChatCompletionExecutor",
        "CreateChatCompletionObservation",
        "CreateChatCompletionTool",
    ),
    "delegate.definition": (
        "AgentDelegateAction",
        "AgentDelegateObservation",
        "DelegateExecutor",
        "DelegateTool",
    ),
    "edit_file.definition": (
        "EditFileAction",
        "EditFileExecutor",
        "EditFileObservation",
        "LLMBasedFileEditTool",
    ),
    "effects": (
        "AssessmentContext",
        "Effect",
        "LeavesSandbox",
        "ReadsURL",
        "RunsCommand",
        "RunsPython",
        "SelfRated",
        "TouchesFile",
    ),
    "execute_bash.definition": (
        "BashTool",
        "CmdOutputMetadata",
        "ExecuteBashAction",
        "ExecuteBashObservation",
        "ExecuteBashInSandbox",
        "execute_bash_tool",
    ),
    "execute_bash.impl": ("BashExecutor",),
    "execute_ipython_cell.definition": (
        "ExecuteIPythonCellAction",
        "ExecuteIPythonCellObservation",
        "IPythonTool",
    ),
    "execute_ipython_cell.impl": ("IPythonExecutor",),
    "executor": (
        "FileChange",
        "ToolExecutor",
    ),
    "find_tools.definition": (
        "FindToolsAction",
        "FindToolsExecutor",
        "FindToolsObservation",
        "FindToolsTool",
    ),
    "finish.definition": (
        "FinishAction",
        "FinishExecutor",
        "FinishObservation",
        "FinishTool",
        "finish_tool",
    ),
    "glob.definition": (
        "GlobAction",
        "GlobExecutor",
        "GlobObservation",
        "GlobTool",
        "glob_tool",
    ),
    "grep.definition": (
        "GrepAction",
        "GrepExecutor",
        "GrepObservation",
        "GrepTool",
        "grep_tool",
    ),
    "manifest": ("BUILTIN_TOOLS", "Presentation"),
    "openapi.calls": (
        "OperationExecutor",
        "OperationObservation",
    ),
    "openapi.definition": ("OpenAPITools",),
    "openapi.tool": (
        "OperationAction",
        "OperationTool",
    ),
    "python_execute.definition": (
        "PythonExecuteAction",
        "PythonExecuteObservation",
        "PythonExecuteTool",
        "PythonExecutor",
    ),
    "registry": (
        "Tool",
        "UnknownTool",
        "list_registered_tools",
        "open_tools",
        "register_tool",
        "resolve_alias",
        "resolve_tool",
        "unregister_tool",
    ),
    "request_condensation.definition": (
        "RequestCondensationAction",
        "RequestCondensationExecutor",
        "RequestCondensationObservation",
        "RequestCondensationTool",
    ),
    "schema": (
        "Action",
        "ImageContent",
        "Observation",
        "Schema",
        "TextContent",
    ),
    "str_replace_editor.definition": (
        "FileEditorExecutor",
        "FileEditorTool",
        "StrReplaceEditorAction",
        "StrReplaceEditorObservation",
        "str_replace_editor_tool",
    ),
    "task_tracker.definition": (
        "TaskItem",
        "TaskTrackerAction",
        "TaskTrackerExecutor",
        "TaskTrackerObservation",
        "TaskTrackerTool",
        "task_tracker_tool",
    ),
    "think.definition": (
        "ThinkAction",
        "ThinkExecutor",
        "ThinkObservation",
        "ThinkTool",
        "think_tool",
    ),
    "tool": (
        "DeclaredTool",
        "StatelessTool",
        "ToolAnnotations",
        "ToolBase",
        "ToolDefinition",
    ),
    "web_read.definition": (
        "WebReadAction",
        "WebReadObservation",
        "WebReadTool",
    ),
    "web_read.impl": ("WebReadExecutor",),
}
"""The public names by the module, below `workbench.tools`, that defines them."""

OF_SERVERS: Final = (
    "MCPClient",
    "MCPToolAction",
    "MCPToolDefinition",
    "MCPToolExecutor",
    "MCPToolObservation",
    "create_mcp_tools",
)
"""Names of `workbench.mcp`, which programs of OpenHands import with the tools; that package is above this one, so they
are not imported here for type checkers.
"""

ALIASES: Final[dict[str, str]] = {
    "ActionBase": "Action",
    "AgentDelegateExecutor": "DelegateExecutor",
    "AgentDelegateTool": "DelegateTool",
    "AskHuman": "AskHumanTool",
    "Bash": "BashTool",
    "BashAction": "ExecuteBashAction",
    "BashObservation": "ExecuteBashObservation",
    "BrowserToolSet": "BrowserTool",
    "BrowserUseTool": "BrowserTool",
    "CondensationRequestAction": "RequestCondensationAction",
    "CondensationRequestExecutor": "RequestCondensationExecutor",
    "CondensationRequestObservation": "RequestCondensationObservation",
    "CondensationRequestTool": "RequestCondensationTool",
    "CreateChatCompletion": "CreateChatCompletionTool",
    "DelegateAction": "AgentDelegateAction",
    "DelegateObservation": "AgentDelegateObservation",
    "EditFileTool": "LLMBasedFileEditTool",
    "ExecuteBashExecutor": "BashExecutor",
    "ExecuteBashTool": "BashTool",
    "ExecuteIPythonCellExecutor": "IPythonExecutor",
    "ExecuteIPythonCellTool": "IPythonTool",
    "FileEditorAction": "StrReplaceEditorAction",
    "FileEditorObservation": "StrReplaceEditorObservation",
    "IPythonAction": "ExecuteIPythonCellAction",
    "IPythonObservation": "ExecuteIPythonCellObservation",
    "LLMBasedFileEditAction": "EditFileAction",
    "LLMBasedFileEditExecutor": "EditFileExecutor",
    "LLMBasedFileEditObservation": "EditFileObservation",
    "ObservationBase": "Observation",
    "PythonExecute": "PythonExecuteTool",
    "PythonExecuteExecutor": "PythonExecutor",
    "StrReplaceEditor": "FileEditorTool",
    "StrReplaceEditorExecutor": "FileEditorExecutor",
    "StrReplaceEditorTool": "FileEditorTool",
    "TerminalAction": "ExecuteBashAction",
    "TerminalExecutor": "BashExecutor",
    "TerminalObservation": "ExecuteBashObservation",
    "TerminalTool": "BashTool",
    "Terminate": "FinishTool",
    "ToolSpec": "Tool",
    "file_editor_tool": "str_replace_editor_tool",
    "terminal_tool": "execute_bash_tool",
}
"""OpenHands and OpenManus names for tools that have another name here, and names derived from a tool's other names."""

Exports: TypeAlias = tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]


def exports_of(package: str) -> Exports:
    """Return the `__getattr__`, `__dir__` and `__all__` of a package that loads its public names on first use."""
    prefix = "" if package == ROOT else f"{package.removeprefix(f'{ROOT}.')}."
    origins = {
        name: f"{ROOT}.{module}" for module, names in EXPORTS.items() if module.startswith(prefix) for name in names
    }
    if package == ROOT:
        origins |= dict.fromkeys(OF_SERVERS, "workbench.mcp")
    aliases = {alias: name for alias, name in ALIASES.items() if name in origins}

    def load(name: str) -> Any:
        own = aliases.get(name, name)
        if own not in origins:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(origins[own]), own)

    def names() -> list[str]:
        return sorted({*vars(import_module(package)), *origins, *aliases})

    own = [] if package == ROOT else ["MANIFEST", "NAME"]
    return load, names, sorted([*origins, *aliases, *own])
