"""The way of the tool `delegate` to sub-agents; whoever opens the tools of a session gives it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


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
