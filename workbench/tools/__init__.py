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

A custom tool is an action, an observation and an executor, which may return a dictionary; `create` gets the parameters:

>>> from workbench.tools import Action, Observation, ToolContext, ToolDefinition, ToolExecutor
>>> class GreetAction(Action):
...     name: str
>>> class GreetObservation(Observation):
...     letters: int = 0
>>> class GreetExecutor(ToolExecutor[GreetAction, GreetObservation]):
...     def __init__(self, greeting):
...         self.greeting = greeting
...     def __call__(self, action, conversation=None):
...         text = f"{self.greeting}, {action.name}!"
...         return {"content": text, "letters": len(text)}
>>> class GreetTool(ToolDefinition[GreetAction, GreetObservation]):
...     @classmethod
...     def create(cls, conv_state, greeting="Hello"):
...         return [cls(description="Greet somebody.", action_type=GreetAction, observation_type=GreetObservation,
...                     executor=GreetExecutor(greeting))]
>>> register_tool("GreetTool", GreetTool)
>>> (greet,) = resolve_tool(Tool(name="GreetTool", params={"greeting": "Good day"}), ToolContext("/"))
>>> greet.name, greet({"name": "Ada"}).text, greet({"name": "Ada"}).letters
('greet', 'Good day, Ada!', 14)
>>> sorted(greet.to_mcp_tool())
['annotations', 'description', 'inputSchema', 'name', 'outputSchema']

A factory gets the state of the conversation too, and may return several tools:

>>> def shells(conv_state, names):
...     return [BashTool(conv_state.workspace.working_dir) for name in names]
>>> register_tool("shells", shells)
>>> len(resolve_tool(Tool("shells", {"names": ["a", "b"]}), ToolContext("/")))
2

A registered tool is created by its name, with parameters for the session that uses it:

>>> register_tool("shell", BashTool)
>>> from workbench.tools import ConversationState
>>> [tool.name for tool in resolve_tool(Tool("shell"), ToolContext("/"))]
['execute_bash']
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.tools.exports import exports_of

if TYPE_CHECKING:
    from workbench.protocol.presentation import Presentation as Presentation
    from workbench.tools.arguments import ArgumentError as ArgumentError
    from workbench.tools.ask_human.definition import AskHumanAction as AskHumanAction
    from workbench.tools.ask_human.definition import AskHumanExecutor as AskHumanExecutor
    from workbench.tools.ask_human.definition import AskHumanObservation as AskHumanObservation
    from workbench.tools.ask_human.definition import AskHumanTool as AskHumanTool
    from workbench.tools.base_tool import BaseTool as BaseTool
    from workbench.tools.base_tool import CLIResult as CLIResult
    from workbench.tools.base_tool import ToolFailure as ToolFailure
    from workbench.tools.base_tool import ToolResult as ToolResult
    from workbench.tools.browser.definition import BrowserAction as BrowserAction
    from workbench.tools.browser.definition import BrowserObservation as BrowserObservation
    from workbench.tools.browser.definition import BrowserTool as BrowserTool
    from workbench.tools.browser.impl import BrowserExecutor as BrowserExecutor
    from workbench.tools.coercion import FunctionExecutor as FunctionExecutor
    from workbench.tools.coercion import ToolError as ToolError
    from workbench.tools.collection import ToolCollection as ToolCollection
    from workbench.tools.context import Answer as Answer
    from workbench.tools.context import Completion as Completion
    from workbench.tools.context import CompletionError as CompletionError
    from workbench.tools.context import ConversationState as ConversationState
    from workbench.tools.context import ToolContext as ToolContext
    from workbench.tools.create_chat_completion.definition import (
        CreateChatCompletionAction as CreateChatCompletionAction,
    )
    from workbench.tools.create_chat_completion.definition import (
        CreateChatCompletionExecutor as CreateChatCompletionExecutor,
    )
    from workbench.tools.create_chat_completion.definition import (
        CreateChatCompletionObservation as CreateChatCompletionObservation,
    )
    from workbench.tools.create_chat_completion.definition import CreateChatCompletionTool as CreateChatCompletionTool
    from workbench.tools.delegate.definition import AgentDelegateAction as AgentDelegateAction
    from workbench.tools.delegate.definition import AgentDelegateObservation as AgentDelegateObservation
    from workbench.tools.delegate.definition import DelegateExecutor as DelegateExecutor
    from workbench.tools.delegate.definition import DelegateTool as DelegateTool
    from workbench.tools.edit_file.definition import EditFileAction as EditFileAction
    from workbench.tools.edit_file.definition import EditFileExecutor as EditFileExecutor
    from workbench.tools.edit_file.definition import EditFileObservation as EditFileObservation
    from workbench.tools.edit_file.definition import LLMBasedFileEditTool as LLMBasedFileEditTool
    from workbench.tools.effects import AssessmentContext as AssessmentContext
    from workbench.tools.effects import Effect as Effect
    from workbench.tools.effects import LeavesSandbox as LeavesSandbox
    from workbench.tools.effects import ReadsURL as ReadsURL
    from workbench.tools.effects import RunsCommand as RunsCommand
    from workbench.tools.effects import RunsPython as RunsPython
    from workbench.tools.effects import SelfRated as SelfRated
    from workbench.tools.effects import TouchesFile as TouchesFile
    from workbench.tools.execute_bash.definition import BashTool as BashTool
    from workbench.tools.execute_bash.definition import CmdOutputMetadata as CmdOutputMetadata
    from workbench.tools.execute_bash.definition import ExecuteBashAction as ExecuteBashAction
    from workbench.tools.execute_bash.definition import ExecuteBashInSandbox as ExecuteBashInSandbox
    from workbench.tools.execute_bash.definition import ExecuteBashObservation as ExecuteBashObservation
    from workbench.tools.execute_bash.definition import execute_bash_tool as execute_bash_tool
    from workbench.tools.execute_bash.impl import BashExecutor as BashExecutor
    from workbench.tools.execute_ipython_cell.definition import ExecuteIPythonCellAction as ExecuteIPythonCellAction
    from workbench.tools.execute_ipython_cell.definition import (
        ExecuteIPythonCellObservation as ExecuteIPythonCellObservation,
    )
    from workbench.tools.execute_ipython_cell.definition import IPythonTool as IPythonTool
    from workbench.tools.execute_ipython_cell.impl import IPythonExecutor as IPythonExecutor
    from workbench.tools.executor import FileChange as FileChange
    from workbench.tools.executor import ToolExecutor as ToolExecutor
    from workbench.tools.find_tools.definition import FindToolsAction as FindToolsAction
    from workbench.tools.find_tools.definition import FindToolsExecutor as FindToolsExecutor
    from workbench.tools.find_tools.definition import FindToolsObservation as FindToolsObservation
    from workbench.tools.find_tools.definition import FindToolsTool as FindToolsTool
    from workbench.tools.finish.definition import FinishAction as FinishAction
    from workbench.tools.finish.definition import FinishExecutor as FinishExecutor
    from workbench.tools.finish.definition import FinishObservation as FinishObservation
    from workbench.tools.finish.definition import FinishTool as FinishTool
    from workbench.tools.finish.definition import finish_tool as finish_tool
    from workbench.tools.functions import tool_from_function as tool_from_function
    from workbench.tools.glob.definition import GlobAction as GlobAction
    from workbench.tools.glob.definition import GlobExecutor as GlobExecutor
    from workbench.tools.glob.definition import GlobObservation as GlobObservation
    from workbench.tools.glob.definition import GlobTool as GlobTool
    from workbench.tools.glob.definition import glob_tool as glob_tool
    from workbench.tools.grep.definition import GrepAction as GrepAction
    from workbench.tools.grep.definition import GrepExecutor as GrepExecutor
    from workbench.tools.grep.definition import GrepObservation as GrepObservation
    from workbench.tools.grep.definition import GrepTool as GrepTool
    from workbench.tools.grep.definition import grep_tool as grep_tool
    from workbench.tools.manifest import BUILTIN_TOOLS as BUILTIN_TOOLS
    from workbench.tools.openapi.calls import OperationExecutor as OperationExecutor
    from workbench.tools.openapi.calls import OperationObservation as OperationObservation
    from workbench.tools.openapi.definition import OpenAPITools as OpenAPITools
    from workbench.tools.openapi.tool import OperationAction as OperationAction
    from workbench.tools.openapi.tool import OperationTool as OperationTool
    from workbench.tools.python_execute.definition import PythonExecuteAction as PythonExecuteAction
    from workbench.tools.python_execute.definition import PythonExecuteObservation as PythonExecuteObservation
    from workbench.tools.python_execute.definition import PythonExecuteTool as PythonExecuteTool
    from workbench.tools.python_execute.definition import PythonExecutor as PythonExecutor
    from workbench.tools.registry import Tool as Tool
    from workbench.tools.registry import UnknownTool as UnknownTool
    from workbench.tools.registry import list_registered_tools as list_registered_tools
    from workbench.tools.registry import open_tools as open_tools
    from workbench.tools.registry import register_tool as register_tool
    from workbench.tools.registry import resolve_alias as resolve_alias
    from workbench.tools.registry import resolve_tool as resolve_tool
    from workbench.tools.registry import unregister_tool as unregister_tool
    from workbench.tools.request_condensation.definition import RequestCondensationAction as RequestCondensationAction
    from workbench.tools.request_condensation.definition import (
        RequestCondensationExecutor as RequestCondensationExecutor,
    )
    from workbench.tools.request_condensation.definition import (
        RequestCondensationObservation as RequestCondensationObservation,
    )
    from workbench.tools.request_condensation.definition import RequestCondensationTool as RequestCondensationTool
    from workbench.tools.schema import Action as Action
    from workbench.tools.schema import ImageContent as ImageContent
    from workbench.tools.schema import Observation as Observation
    from workbench.tools.schema import Schema as Schema
    from workbench.tools.schema import TextContent as TextContent
    from workbench.tools.str_replace_editor.definition import FileEditorExecutor as FileEditorExecutor
    from workbench.tools.str_replace_editor.definition import FileEditorTool as FileEditorTool
    from workbench.tools.str_replace_editor.definition import StrReplaceEditorAction as StrReplaceEditorAction
    from workbench.tools.str_replace_editor.definition import StrReplaceEditorObservation as StrReplaceEditorObservation
    from workbench.tools.str_replace_editor.definition import str_replace_editor_tool as str_replace_editor_tool
    from workbench.tools.task_tracker.definition import TaskItem as TaskItem
    from workbench.tools.task_tracker.definition import TaskTrackerAction as TaskTrackerAction
    from workbench.tools.task_tracker.definition import TaskTrackerExecutor as TaskTrackerExecutor
    from workbench.tools.task_tracker.definition import TaskTrackerObservation as TaskTrackerObservation
    from workbench.tools.task_tracker.definition import TaskTrackerTool as TaskTrackerTool
    from workbench.tools.task_tracker.definition import task_tracker_tool as task_tracker_tool
    from workbench.tools.think.definition import ThinkAction as ThinkAction
    from workbench.tools.think.definition import ThinkExecutor as ThinkExecutor
    from workbench.tools.think.definition import ThinkObservation as ThinkObservation
    from workbench.tools.think.definition import ThinkTool as ThinkTool
    from workbench.tools.think.definition import think_tool as think_tool
    from workbench.tools.tool import DeclaredTool as DeclaredTool
    from workbench.tools.tool import StatelessTool as StatelessTool
    from workbench.tools.tool import ToolAnnotations as ToolAnnotations
    from workbench.tools.tool import ToolBase as ToolBase
    from workbench.tools.tool import ToolDefinition as ToolDefinition
    from workbench.tools.web_read.definition import WebReadAction as WebReadAction
    from workbench.tools.web_read.definition import WebReadObservation as WebReadObservation
    from workbench.tools.web_read.definition import WebReadTool as WebReadTool
    from workbench.tools.web_read.impl import WebReadExecutor as WebReadExecutor

    ActionBase = Action
    AgentDelegateExecutor = DelegateExecutor
    AgentDelegateTool = DelegateTool
    AskHuman = AskHumanTool
    Bash = BashTool
    BashAction = ExecuteBashAction
    BashObservation = ExecuteBashObservation
    BrowserToolSet = BrowserTool
    BrowserUseTool = BrowserTool
    CondensationRequestAction = RequestCondensationAction
    CondensationRequestExecutor = RequestCondensationExecutor
    CondensationRequestObservation = RequestCondensationObservation
    CondensationRequestTool = RequestCondensationTool
    CreateChatCompletion = CreateChatCompletionTool
    DelegateAction = AgentDelegateAction
    DelegateObservation = AgentDelegateObservation
    EditFileTool = LLMBasedFileEditTool
    ExecuteBashExecutor = BashExecutor
    ExecuteBashTool = BashTool
    ExecuteIPythonCellExecutor = IPythonExecutor
    ExecuteIPythonCellTool = IPythonTool
    FileEditorAction = StrReplaceEditorAction
    FileEditorObservation = StrReplaceEditorObservation
    IPythonAction = ExecuteIPythonCellAction
    IPythonObservation = ExecuteIPythonCellObservation
    LLMBasedFileEditAction = EditFileAction
    LLMBasedFileEditExecutor = EditFileExecutor
    LLMBasedFileEditObservation = EditFileObservation
    ObservationBase = Observation
    PythonExecute = PythonExecuteTool
    PythonExecuteExecutor = PythonExecutor
    StrReplaceEditor = FileEditorTool
    StrReplaceEditorExecutor = FileEditorExecutor
    StrReplaceEditorTool = FileEditorTool
    TerminalAction = ExecuteBashAction
    TerminalExecutor = BashExecutor
    TerminalObservation = ExecuteBashObservation
    TerminalTool = BashTool
    Terminate = FinishTool
    ToolSpec = Tool
    file_editor_tool = str_replace_editor_tool
    terminal_tool = execute_bash_tool

__getattr__, __dir__, __all__ = exports_of(__name__)
