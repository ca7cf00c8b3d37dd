"""The tools of an agent, and the interface for third-party tools; names load on first use.

A tool runs in plain Python, without a session, an engine or a screen. It takes the arguments that a model sends and
returns an observation; errors are observations too:

>>> from workbench.tools import BashTool, FileEditorTool, Tool, register_tool, resolve_tool
>>> with BashTool(working_dir="/") as bash:
...     observation = bash(bash.action_from_arguments({"command": "echo $((6 * 7)); (exit 3)"}))
>>> observation.output.strip(), observation.exit_code
('42', 3)
>>> with FileEditorTool() as editor:
...     print(editor(editor.action_from_arguments({"command": "view", "path": "/no/such/file"})).is_error)
True

A registered tool is created by its name, with parameters for the session that uses it:

>>> register_tool("shell", BashTool)
>>> from workbench.tools import ConversationState, ToolContext
>>> [tool.name for tool in resolve_tool(Tool("shell"), ToolContext("/"))]
['execute_bash']
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.protocol.presentation import Presentation as Presentation
    from workbench.tools.arguments import ArgumentError as ArgumentError
    from workbench.tools.ask_human.definition import AskHumanTool as AskHumanTool
    from workbench.tools.browser.definition import BrowserTool as BrowserTool
    from workbench.tools.context import Answer as Answer
    from workbench.tools.context import Completion as Completion
    from workbench.tools.context import CompletionError as CompletionError
    from workbench.tools.context import ConversationState as ConversationState
    from workbench.tools.context import ToolContext as ToolContext
    from workbench.tools.edit_file.definition import LLMBasedFileEditTool as LLMBasedFileEditTool
    from workbench.tools.effects import AssessmentContext as AssessmentContext
    from workbench.tools.effects import Effect as Effect
    from workbench.tools.effects import ReadsURL as ReadsURL
    from workbench.tools.effects import RunsCommand as RunsCommand
    from workbench.tools.effects import RunsPython as RunsPython
    from workbench.tools.effects import SelfRated as SelfRated
    from workbench.tools.effects import TouchesFile as TouchesFile
    from workbench.tools.execute_bash.definition import BashTool as BashTool
    from workbench.tools.execute_ipython_cell.definition import IPythonTool as IPythonTool
    from workbench.tools.executor import FileChange as FileChange
    from workbench.tools.executor import ToolExecutor as ToolExecutor
    from workbench.tools.find_tools.definition import FindToolsTool as FindToolsTool
    from workbench.tools.finish.definition import FinishTool as FinishTool
    from workbench.tools.glob.definition import GlobTool as GlobTool
    from workbench.tools.grep.definition import GrepTool as GrepTool
    from workbench.tools.manifest import BUILTIN_TOOLS as BUILTIN_TOOLS
    from workbench.tools.python_execute.definition import PythonExecuteTool as PythonExecuteTool
    from workbench.tools.registry import Tool as Tool
    from workbench.tools.registry import UnknownTool as UnknownTool
    from workbench.tools.registry import list_registered_tools as list_registered_tools
    from workbench.tools.registry import open_tools as open_tools
    from workbench.tools.registry import register_tool as register_tool
    from workbench.tools.registry import resolve_alias as resolve_alias
    from workbench.tools.registry import resolve_tool as resolve_tool
    from workbench.tools.registry import unregister_tool as unregister_tool
    from workbench.tools.request_condensation.definition import RequestCondensationTool as RequestCondensationTool
    from workbench.tools.schema import Action as Action
    from workbench.tools.schema import ImageContent as ImageContent
    from workbench.tools.schema import Observation as Observation
    from workbench.tools.schema import Schema as Schema
    from workbench.tools.schema import TextContent as TextContent
    from workbench.tools.str_replace_editor.definition import FileEditorTool as FileEditorTool
    from workbench.tools.task_tracker.definition import TaskTrackerTool as TaskTrackerTool
    from workbench.tools.think.definition import ThinkTool as ThinkTool
    from workbench.tools.tool import ToolAnnotations as ToolAnnotations
    from workbench.tools.tool import ToolBase as ToolBase
    from workbench.tools.tool import ToolDefinition as ToolDefinition
    from workbench.tools.web_read.definition import WebReadTool as WebReadTool

_MODULES = {
    "arguments": ("ArgumentError",),
    "ask_human.definition": ("AskHumanTool",),
    "browser.definition": ("BrowserTool",),
    "context": ("Answer", "Completion", "CompletionError", "ConversationState", "ToolContext"),
    "edit_file.definition": ("LLMBasedFileEditTool",),
    "effects": (
        "AssessmentContext",
        "Effect",
        "ReadsURL",
        "RunsCommand",
        "RunsPython",
        "SelfRated",
        "TouchesFile",
    ),
    "execute_bash.definition": ("BashTool",),
    "execute_ipython_cell.definition": ("IPythonTool",),
    "executor": ("FileChange", "ToolExecutor"),
    "find_tools.definition": ("FindToolsTool",),
    "finish.definition": ("FinishTool",),
    "glob.definition": ("GlobTool",),
    "grep.definition": ("GrepTool",),
    "python_execute.definition": ("PythonExecuteTool",),
    "manifest": ("BUILTIN_TOOLS", "Presentation"),
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
    "request_condensation.definition": ("RequestCondensationTool",),
    "schema": ("Action", "ImageContent", "Observation", "Schema", "TextContent"),
    "str_replace_editor.definition": ("FileEditorTool",),
    "task_tracker.definition": ("TaskTrackerTool",),
    "think.definition": ("ThinkTool",),
    "tool": ("ToolAnnotations", "ToolBase", "ToolDefinition"),
    "web_read.definition": ("WebReadTool",),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF})
