"""What runs a tool: executors take a validated action and answer with an observation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic

from typing_extensions import TypeVar

from workbench.tools.schema import Action, Observation

ActionT = TypeVar("ActionT", bound=Action, default=Any)
ObservationT = TypeVar("ObservationT", bound=Observation, default=Any)


@dataclass(frozen=True)
class Stale:
    """What the agent had `seen` of a file that somebody changed since, and what it `wanted` to make of that.

    `conflicts` counts the places that both changed; None where the two changes could not be merged.
    """

    seen: str
    wanted: str
    conflicts: int | None = 0


@dataclass(frozen=True)
class FileChange:
    """One file before and after: its text, `None` where it does not exist; `path` is absolute.

    Where the file is not what the agent had seen (`stale`), `after` holds their change and the agent's.
    """

    path: str
    before: str | None
    after: str | None
    stale: Stale | None = None


class ToolExecutor(ABC, Generic[ActionT, ObservationT]):
    """Runs the actions of one tool; only `__call__` must be written."""

    on_output: Callable[[str], None] | None = None
    """Where output goes while an action runs (set by whoever wants to see it live)."""
    side_by_side: bool = False
    """Of a read-only tool: whether calls may run at once, in any thread; `interrupt` then ends all of them."""

    @abstractmethod
    def __call__(self, action: ActionT) -> ObservationT:
        """Run the action; what goes wrong comes back as an observation with `is_error`."""

    def recall(self, observation: dict[str, Any]) -> None:
        """What this tool answered earlier in the session, as plain data; called for each, in order, after a restart."""
        return None

    def preview(self, action: ActionT) -> Sequence[FileChange]:
        """What running the action would write, without writing it; empty when nothing is known."""
        return ()

    def preparation(self, action: ActionT) -> Callable[[], ObservationT | None] | None:
        """What takes long and must be done before `preview` can tell, such as asking a model; None: nothing.

        It is done before anybody is asked about the action, and `interrupt` ends it. What it gives back says why the
        action cannot be run, or is None.
        """
        return None

    def working_dir(self) -> str | None:
        """The folder an action would run in, where that moves with the actions; `None` means the workspace."""
        return None

    def interrupt(self) -> None:
        """End a running `__call__` soon; called from another thread. It still returns an observation."""

    def close(self) -> None:
        """Free what the executor holds; no process it started is left."""
