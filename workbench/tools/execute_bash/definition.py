"""The tool `execute_bash` as models see it: arguments, result, description."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from workbench.processes.launch import Launcher
from workbench.tools.context import ConversationState, shell_launcher_of, state_directory_of, workspace_of
from workbench.tools.effects import AssessmentContext, Effect, LeavesSandbox, RunsCommand, TypesInput
from workbench.tools.execute_bash.stream import LIMIT
from workbench.tools.schema import Action, Observation, Schema
from workbench.tools.tool import DeclaredTool, ToolAnnotations, described

TerminalType = Literal["tmux", "subprocess"]
"""The kinds of terminals that OpenHands' shell has. Both are accepted, and make no difference."""
SILENCE = 30.0
"""Seconds without new output after which a call without `timeout` returns."""


def _description(silence: float, limit: float | None = None) -> str:
    pause = f"after {limit:g} seconds" if limit else f"once nothing new was printed for {silence:g} seconds"
    return f"""Run a command in a bash shell that stays open: its directory, variables and functions last between calls.

Input: `command`, one command or a script of several lines (heredocs, loops and functions work).
Result: what was printed, the exit code, the working directory. Over {LIMIT:,} characters the middle is omitted and the result names a file with all of it.
Long runs: without `timeout` the call comes back {pause}; with `timeout` after that many seconds. The command continues (exit code -1): an empty `command` waits for more, `is_input` types text or a key such as C-c into it. A new command is refused until it ended. Start servers with `&` and send their output to a file.
Limits: no full-screen programs, no passwords; use options that ask nothing (-y, --no-edit, sudo -n). `exit` ends the shell and loses its state; `reset` starts a new one when the old one is stuck."""  # noqa: E501


def _short(silence: float, limit: float | None = None) -> str:
    pause = f"{limit:g} s" if limit else f"{silence:g} s without output"
    return f"""Run a command or script in a persistent bash shell; prints output and exit code. After {pause} (or `timeout`) it returns with exit code -1 and continues: empty `command` waits, `is_input` types text or keys (C-c)."""  # noqa: E501


_SANDBOX = """
Sandbox: commands write only the workspace, $TMPDIR and directories that the user allows, see no keys or passwords, and reach only hosts that the user allows. `outside_sandbox` asks the user to run one command, which starts in the same directory, without it."""  # noqa: E501

_CONTAINER = """
Container: commands run in a container, which shares only the workspace with this machine, has programs of its own, and is deleted with the session. `outside_sandbox` asks the user to run one command on this machine, without it."""  # noqa: E501


class ExecuteBashAction(Action):
    """A command, input for the running one, or an empty command to wait for it."""

    command: str = Field(
        description="What to run. Empty: wait for the running command. With is_input: text, typed with Enter, or one "
        "key: C-a to C-z, ENTER, TAB, ESC, UP, DOWN, LEFT, RIGHT, HOME, END, PGUP, PGDN, BS.",
    )
    is_input: bool = Field(default=False, description="True: type `command` into the running command.")
    timeout: float | None = Field(
        default=None, gt=0, description="Seconds after which to come back in any case; the command is not ended."
    )
    reset: bool = Field(default=False, description="True: start a new shell first, without the old one's state.")


class ExecuteBashInSandbox(ExecuteBashAction):
    """The same in a shell inside a sandbox, which one command may ask to leave."""

    outside_sandbox: bool = Field(
        default=False, description="True: run this one command outside the sandbox; the user is asked. Needs `why`."
    )
    why: str = Field(default="", description="Why the command cannot work inside the sandbox, in one sentence.")


class CmdOutputMetadata(Schema):
    """The state of the shell after a call; `pid` is the shell's, and `exit_code` -1 while the command runs."""

    exit_code: int = -1
    pid: int = -1
    working_dir: str = ""
    username: str = ""
    hostname: str = ""
    py_interpreter_path: str | None = None
    prefix: str = ""
    """The lines before the output."""
    suffix: str = ""
    """The lines after the output."""


class ExecuteBashObservation(Observation):
    """The output of the command and its exit code, which is -1 while it runs or if nothing was run."""

    output: str = ""
    command: str = ""
    exit_code: int = -1
    timed_out: bool = False
    metadata: CmdOutputMetadata = CmdOutputMetadata()
    full_output: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _named_timeout(cls, fields: Any) -> Any:
        """Accept `timeout`, the name in OpenHands."""
        if isinstance(fields, dict) and "timeout" in fields:
            return {"timed_out": fields["timeout"], **{name: fields[name] for name in fields if name != "timeout"}}
        return fields

    @property
    def timeout(self) -> bool:
        """Whether the call returned before the command had ended, because of the time; the same as `timed_out`."""
        return self.timed_out

    @property
    def error(self) -> bool:
        """Whether the call was refused; the same as `is_error`."""
        return self.is_error

    @property
    def command_id(self) -> int:
        """The process ID of the shell."""
        return self.metadata.pid


class BashTool(DeclaredTool[ExecuteBashAction, ExecuteBashObservation]):
    """A persistent bash shell; it starts with the first command."""

    name = "execute_bash"
    description = _description(SILENCE)
    short_description = _short(SILENCE)
    action_type = ExecuteBashAction
    observation_type = ExecuteBashObservation
    annotations = ToolAnnotations.writing("Run a command in bash", open_world=True)

    def __init__(
        self,
        working_dir: str | Path = ".",
        *,
        state_dir: Path | None = None,
        no_change_timeout: Annotated[float, Field(gt=0)] = SILENCE,
        no_change_timeout_seconds: Annotated[float, Field(gt=0)] | None = None,
        timeout: Annotated[float, Field(gt=0)] | None = None,
        username: str | None = None,
        terminal_type: TerminalType | None = None,
        hidden_env: Collection[str] = (),
        sandbox: Launcher | None = None,
    ) -> None:
        """`timeout` is the limit, in seconds, of calls that have none of their own.

        Parameters of OpenHands are accepted: `no_change_timeout_seconds`, `username` (only your own), `terminal_type`.
        """
        from workbench.tools.execute_bash.impl import BashExecutor  # pexpect only where a shell runs

        silence = no_change_timeout_seconds or no_change_timeout
        more: dict[str, Any] = {"username": username, "terminal_type": terminal_type, "hidden_env": hidden_env}
        times: dict[str, Any] = {"no_change_timeout": silence, "timeout": timeout}
        executor = BashExecutor(working_dir, state_dir, **times, **more, sandbox=sandbox)
        self.description, self.short_description = _descriptions(executor)
        if sandbox is not None:
            self.action_type = ExecuteBashInSandbox
        super().__init__(executor)

    def set_executor(self, executor: Any) -> Self:
        """Return a copy of the tool with this executor; its description then contains the executor's time limit."""
        changed = super().set_executor(executor)
        changed.description, changed.short_description = _descriptions(executor)
        return changed

    def assess(self, arguments: Mapping[str, Any], context: AssessmentContext) -> Sequence[Effect]:
        """Return the effects: running the command line, or typing the input, with the programs that would read it."""
        return _effects(arguments, self.executor)

    @classmethod
    def create(cls, conv_state: ConversationState, **params: Any) -> Sequence[BashTool]:
        """Return the shell of a session, in its workspace."""
        return (cls(**{**_defaults(conv_state), **params}),)


def leaving(arguments: Mapping[str, Any], executor: object) -> Sequence[Effect]:
    """Return the effect of running outside the sandbox; empty if there is no sandbox, or the call stays inside.

    Typing into a command that runs outside has this effect too.
    """
    sandbox: Launcher | None = getattr(executor, "sandbox", None)
    types_outside = bool(arguments.get("is_input")) and getattr(getattr(executor, "shells", None), "is_outside", False)
    if not (arguments.get("outside_sandbox") or types_outside) or sandbox is None or not sandbox.holds:
        return ()
    return (LeavesSandbox(str(arguments.get("why") or "")),)


def _descriptions(executor: object) -> tuple[str, str]:
    silence, limit = getattr(executor, "no_change_timeout", SILENCE), getattr(executor, "timeout", None)
    sandbox: Launcher | None = getattr(executor, "sandbox", None)
    more = "" if sandbox is None else _SANDBOX if sandbox.directory is None else _CONTAINER
    return _description(silence, limit) + more, _short(silence, limit) + more


def _effects(arguments: Mapping[str, Any], executor: object) -> Sequence[Effect]:
    line, leaves = str(arguments.get("command", "")), leaving(arguments, executor)
    sandbox: Launcher | None = getattr(executor, "sandbox", None)
    container_path = sandbox.container_path if sandbox is not None and not leaves else ""
    if not arguments.get("is_input"):
        granted = tuple(sandbox.granted) if sandbox is not None and not leaves else ()
        return (RunsCommand(line, container_path, granted), *leaves)
    waiting = getattr(executor, "waiting", None)
    return (TypesInput(line, tuple(waiting()) if waiting is not None else (), container_path), *leaves)


def _defaults(conv_state: ConversationState) -> dict[str, Any]:
    return {
        "working_dir": workspace_of(conv_state),
        "state_dir": state_directory_of(conv_state),
        "sandbox": shell_launcher_of(conv_state),
    }


execute_bash_tool = described(BashTool)
