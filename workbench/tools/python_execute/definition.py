"""The tool `python_execute` as model and session see it: a piece of Python, and what it prints."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from workbench.tools.context import ConversationState
from workbench.tools.declared import DeclaredTool
from workbench.tools.effects import AssessmentContext, Effect, RunsPython
from workbench.tools.schema import Action, Observation
from workbench.tools.tool import ToolAnnotations, ToolDefinition

_DESCRIPTION = """Run a piece of Python in a fresh interpreter of the workspace; the result is what it prints.

* Every call begins anew: nothing stays from the call before. Print what you want to see; values are not shown by themselves.
* It runs in the workspace folder, with the packages of its .venv where there is one. There is no input: `input()` fails.
* After `timeout` seconds it is ended with all processes it started; what was printed until then comes back.

Use it for calculations and checks. Use execute_bash for what has to go on, and str_replace_editor to change files."""  # noqa: E501
_SHORT = "Run Python in a fresh interpreter; the result is what it prints. Nothing stays between calls."


class PythonExecuteAction(Action):
    """A piece of Python."""

    code: str = Field(description="The Python code; print the results.")
    timeout: float = Field(5.0, gt=0, le=600, description="Seconds after which it is ended.")


class PythonExecuteObservation(Observation):
    """What the code printed; `exit_code` is negative when it was ended by that signal."""

    output: str = ""
    exit_code: int = 0
    timed_out: bool = False


class PythonExecuteTool(DeclaredTool[PythonExecuteAction, PythonExecuteObservation]):
    """Running Python, ready to use."""

    name = "python_execute"
    description = _DESCRIPTION
    short_description = _SHORT
    action_type = PythonExecuteAction
    observation_type = PythonExecuteObservation
    annotations = ToolAnnotations.writing("Run Python", open_world=True)

    def __init__(self, workspace: str | Path | None = None, *, hidden_env: Collection[str] = ()) -> None:
        from workbench.tools.python_execute.impl import PythonExecutor

        super().__init__(PythonExecutor(Path(workspace or ".").absolute(), hidden_env))

    def assess(self, arguments: Mapping[str, Any], context: AssessmentContext) -> Sequence[Effect]:
        """Return the code, and the interpreter that it is run with."""
        starts = getattr(self.executor, "starts", None)
        return (RunsPython(str(arguments.get("code", "")), starts=starts(restart=False) if starts else ""),)

    @classmethod
    def create(cls, conv_state: ConversationState, **params: Any) -> Sequence[ToolDefinition]:
        """Running Python in a session's workspace."""
        return (cls(**{"workspace": conv_state.workspace, **params}),)
