"""The tool `execute_ipython_cell`: its action, observation and description."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from workbench.processes.launch import Launcher
from workbench.tools.context import ConversationState, sandbox_of, state_directory_of, workspace_of
from workbench.tools.effects import AssessmentContext, Effect, RunsPython
from workbench.tools.schema import Action, Observation
from workbench.tools.tool import DeclaredTool, ToolAnnotations, ToolDefinition

TIMEOUT = 120.0
_DESCRIPTION = f"""Run a cell of Python in the workspace's IPython; variables, imports and functions stay for the next cells.

* Back come what the cell prints, the value of its last line, its pictures (plots of matplotlib, images) and, for an error, the lines that led to it.
* Magics work: `%pip install NAME` adds a package, `%%time` measures, `!command` runs a shell command. There is no input: `input()` fails.
* After `timeout` seconds ({TIMEOUT:g} unless you say otherwise) the cell is interrupted, and the interpreter ended if that does not help; the result says whether variables are still there.
* `restart` starts a new interpreter before the code runs; the code may then be empty.

Use it for data, plots and trying things out. Use execute_bash for programs, and str_replace_editor to change files."""  # noqa: E501
_SHORT = (
    "Run a cell of Python in IPython: variables stay, the last value and plots come back, magics such as %pip work."
)


class ExecuteIPythonCellAction(Action):
    """A cell to run."""

    code: str = Field(description="The code of the cell.")
    timeout: float = Field(TIMEOUT, gt=0, le=3600, description="Seconds after which it is interrupted.")
    restart: bool = Field(False, description="Start a new interpreter; all variables are gone.")


class ExecuteIPythonCellObservation(Observation):
    """The output of a cell, its `error` with the lines that led to it, and the state of the interpreter."""

    output: str = ""
    error: str = ""
    count: int = 0
    timed_out: bool = False
    restarted: bool = False
    interpreter: str = ""
    output_file: str | None = None


class IPythonTool(DeclaredTool[ExecuteIPythonCellAction, ExecuteIPythonCellObservation]):
    """Runs cells in IPython, in the workspace."""

    name = "execute_ipython_cell"
    description = _DESCRIPTION
    short_description = _SHORT
    action_type = ExecuteIPythonCellAction
    observation_type = ExecuteIPythonCellObservation
    annotations = ToolAnnotations.writing("Run a cell", open_world=True)

    def __init__(
        self,
        workspace: str | Path | None = None,
        *,
        state_dir: Path | None = None,
        python: str = "",
        hidden_env: Collection[str] = (),
        sandbox: Launcher | None = None,
    ) -> None:
        """`python` is an interpreter with IPython; by default one is searched for."""
        from workbench.tools.execute_ipython_cell.impl import IPythonExecutor

        directory = Path(workspace or ".").absolute()
        super().__init__(IPythonExecutor(directory, state_dir, python=python, hidden_env=hidden_env, sandbox=sandbox))

    def assess(self, arguments: Mapping[str, Any], context: AssessmentContext) -> Sequence[Effect]:
        """Return the effect of running the cell; it names the workspace's interpreter if the call starts one."""
        starts = getattr(self.executor, "starts", None)
        program = starts(restart=bool(arguments.get("restart"))) if starts else ""
        return (RunsPython(str(arguments.get("code", "")), is_cell=True, starts=program),)

    @classmethod
    def create(cls, conv_state: ConversationState, **params: Any) -> Sequence[ToolDefinition]:
        """Return the tool for a session, in its workspace."""
        usual = {
            "workspace": workspace_of(conv_state),
            "state_dir": state_directory_of(conv_state),
            "sandbox": sandbox_of(conv_state),
        }
        return (cls(**{**usual, **params}),)
