"""Where a tool works: the folder, the session's private place, and what the session lends to its tools."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from workbench.errors import WorkbenchError


@dataclass(frozen=True)
class Answer:
    """What the model said and what that took; `None` where it is not known, `cost` in US dollars."""

    text: str
    model: str = ""
    cost: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


class CompletionError(WorkbenchError):
    """There is no whole answer: the call failed, was interrupted, or broke off; the message says which."""


class Completion(Protocol):
    """A model that answers one question at a time."""

    def __call__(self, prompt: str) -> Answer:
        """The whole answer; raises CompletionError."""

    def interrupt(self) -> None:
        """End the running call soon; called from another thread."""


class NoModel:
    """The completion where tools are only shown and nobody can be asked."""

    def __call__(self, prompt: str) -> Answer:
        """Raises CompletionError."""
        raise CompletionError("There is no model here to ask.")

    def interrupt(self) -> None:
        """Nothing runs."""


@dataclass(frozen=True)
class Delegated:
    """How a sub-agent ended: its final message, or why there is none; `session` names its log."""

    text: str
    is_error: bool = False
    session: str = ""


class Delegation(Protocol):
    """Starts sub-agents; several may work at once, each in the thread that calls."""

    def __call__(self, agent: str, task: str, max_steps: int) -> Delegated:
        """The outcome, once the sub-agent has come to its end. Raises WorkbenchError when it cannot be started."""

    def interrupt(self) -> None:
        """End all that work now; called from another thread."""


class ConversationState(Protocol):
    """What a tool may know about where it works."""

    @property
    def workspace(self) -> str:
        """The folder the agent works in, absolute."""

    @property
    def state_dir(self) -> Path | None:
        """A private folder of this session that survives a restart; None where there is none."""

    @property
    def complete(self) -> Completion | None:
        """A model to ask one question outside of the conversation; None where there is none."""

    @property
    def delegation(self) -> Delegation | None:
        """What starts sub-agents; None where there are none."""


@dataclass(frozen=True)
class ToolContext:
    """The plain ConversationState."""

    workspace: str
    state_dir: Path | None = None
    complete: Completion | None = None
    delegation: Delegation | None = None
    merges: bool = False
    """An edit of a file that somebody changed is merged with their change: whoever runs the tools asks about it."""
    notices: list[str] = field(default_factory=list)
    """What tools say for the person while they are made, a line each."""


def warn(conv_state: ConversationState, line: str) -> None:
    """Tell the person what is left out although the settings want it; lost where nobody collects notices."""
    notices = getattr(conv_state, "notices", None)
    if isinstance(notices, list):
        notices.append(line)


def merges_changes(conv_state: ConversationState) -> bool:
    """Whether edits are merged there with changes that the agent has not seen; where nothing is said, they are not."""
    return bool(getattr(conv_state, "merges", False))
