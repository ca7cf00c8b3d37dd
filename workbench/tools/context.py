"""The environment of a tool: the workspace, the session's private directory, and services of the session."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from workbench.errors import WorkbenchError
from workbench.processes.launch import Launcher

CURRENT_ACTION: ContextVar[str] = ContextVar("CURRENT_ACTION", default="")
"""The ID of the action whose tool runs in this thread; empty outside of a session."""


@dataclass(frozen=True)
class Answer:
    """The model's response, and its cost in US dollars and tokens; None if unknown."""

    text: str
    model: str = ""
    cost: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


class CompletionError(WorkbenchError):
    """There is no complete response: the call failed, was interrupted, or broke off; the message says which."""


class Completion(Protocol):
    """A model that responds to one prompt at a time."""

    def __call__(self, prompt: str) -> Answer:
        """Return the whole answer. Raises CompletionError."""

    def interrupt(self) -> None:
        """End the running call soon; called from another thread."""


class NoModel:
    """A completion without a model, for listing tools: every call raises CompletionError."""

    def __call__(self, prompt: str) -> Answer:
        """Raise CompletionError."""
        raise CompletionError("There is no model here to ask.")

    def interrupt(self) -> None:
        """Do nothing: no call is running."""


@dataclass(frozen=True)
class Delegated:
    """The result of a sub-agent: its final message, or the error; `session` is the ID of its log."""

    text: str
    is_error: bool = False
    session: str = ""
    agent: str = ""
    """The name of the sub-agent, which is that of its kind if it has one."""
    definition: str = ""
    """Where the sub-agent's kind is defined, and the kind's properties; empty without a kind."""


class Delegation(Protocol):
    """Starts sub-agents; several may run at once, each in its caller's thread."""

    @property
    def kinds(self) -> Mapping[str, str]:
        """The descriptions of the kinds of sub-agents, by name."""

    def __call__(self, agent: str, task: str, max_steps: int) -> Delegated:
        """Run a sub-agent and return its result. Raises WorkbenchError if it cannot be started."""

    def interrupt(self) -> None:
        """End all running sub-agents now; called from another thread."""


class ConversationState(Protocol):
    """The parts of a session that its tools may use."""

    @property
    def workspace(self) -> str:
        """The directory that the agent works in, absolute."""

    @property
    def state_dir(self) -> Path | None:
        """A private directory of this session that survives a restart, or None."""

    @property
    def complete(self) -> Completion | None:
        """Sends single prompts to a model, outside the conversation; None if there is no model."""

    @property
    def delegation(self) -> Delegation | None:
        """Starts sub-agents; None if the session cannot start any."""


class WorkspacePath(str):
    """The directory of a workspace. It is also its own `working_dir`, where factories for OpenHands read it."""

    __slots__ = ()

    @property
    def working_dir(self) -> str:
        """The directory as a plain string."""
        return str(self)


@dataclass(frozen=True)
class ToolContext:
    """A ConversationState with plain values."""

    workspace: str
    state_dir: Path | None = None
    complete: Completion | None = None
    delegation: Delegation | None = None
    merges: bool = False
    """Whether an edit to a file that has changed since the agent read it is merged with that change; the session then
    asks the user.
    """
    sandbox: Launcher | None = None
    """Starts the programs of tools inside a sandbox; None if there is none."""
    container: Launcher | None = None
    """Starts shells inside a container; None if there is none."""
    notices: list[str] = field(default_factory=list)
    """Lines for the user that tools emit while they are created."""

    def __post_init__(self) -> None:
        """Keep the workspace as a `WorkspacePath`, whatever kind of path was given."""
        object.__setattr__(self, "workspace", WorkspacePath(self.workspace))


def workspace_of(conv_state: Any) -> str:
    """Return the workspace of a session; OpenHands' states have an object there, with the path as `working_dir`."""
    return str(getattr(conv_state.workspace, "working_dir", conv_state.workspace))


def state_directory_of(conv_state: Any) -> Path | None:
    """Return the session's private directory; None if the state has none, as that of another program may."""
    directory = getattr(conv_state, "state_dir", None)
    return None if directory is None else Path(directory)


def sandbox_of(conv_state: Any) -> Launcher | None:
    """Return what starts the programs of tools inside the session's sandbox; None if it has none."""
    sandbox: Launcher | None = getattr(conv_state, "sandbox", None)
    return sandbox


def shell_launcher_of(conv_state: Any) -> Launcher | None:
    """Return what starts the shells of a session: inside its container, else inside its sandbox, else None."""
    container: Launcher | None = getattr(conv_state, "container", None)
    return container if container is not None else sandbox_of(conv_state)


def warn(conv_state: ConversationState, line: str) -> None:
    """Add a line to the notices for the user, such as that a part of the settings is not used; ignored if the session
    does not collect notices.
    """
    notices = getattr(conv_state, "notices", None)
    if isinstance(notices, list):
        notices.append(line)


def merges_changes(conv_state: ConversationState) -> bool:
    """Return whether edits are merged with changes that the agent has not seen; False by default."""
    return bool(getattr(conv_state, "merges", False))
