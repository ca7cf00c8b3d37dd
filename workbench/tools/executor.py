"""Executors, which run a tool: they take a validated action and return an observation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Generic

import msgspec
from typing_extensions import TypeVar

from workbench.processes.launch import Launcher
from workbench.tools.schema import Action, Observation

ActionT = TypeVar("ActionT", bound=Action, default=Any)
ObservationT = TypeVar("ObservationT", bound=Observation, default=Any)


class Stale(msgspec.Struct, frozen=True):
    """A change of a file since the agent viewed it: `base` is the viewed content, `ours` is `base` with the agent's
    edit.

    `conflicts` is the number of conflicting passages; None if the two changes could not be merged.
    """

    base: str
    ours: str
    conflicts: int | None = 0


class FileChange(msgspec.Struct, frozen=True):
    """The text of one file before and after a change; None if the file does not exist then. `path` is absolute.

    If the file was changed since the agent viewed it (`stale`), `after` is the merge of both changes. Where they
    conflict, it has the agent's lines; if they cannot be merged, it is the agent's text alone.
    """

    path: str
    before: str | None
    after: str | None
    stale: Stale | None = None


class ToolExecutor(ABC, Generic[ActionT, ObservationT]):
    """Runs the actions of one tool; only `__call__` must be implemented."""

    on_output: Callable[[str], None] | None = None
    """Receives output while an action runs; set by a caller that shows it live."""
    side_by_side: bool = False
    """Whether calls of a read-only tool may run concurrently, in any thread; `interrupt` then ends all of them."""
    sandbox: Launcher | None = None
    """Starts the programs of this tool in a sandbox; None if they are not confined."""
    program: str = ""
    """The name under which the program behind this tool asks for hosts; only for one that also runs between calls."""
    recalls_last: bool = False
    """Whether `recall` needs only the last result, not all of them."""
    stop_seconds: float = 0.0
    """The seconds after `interrupt` in which a running `__call__` must end, or its outcome is unknown; at least one."""

    @abstractmethod
    def __call__(self, action: ActionT) -> ObservationT:
        """Run the action; return errors as an observation with `is_error`."""

    def recall(self, observation: dict[str, Any]) -> None:
        """Restore state from an observation (plain data) that this tool returned before a restart; called in order."""

    def rewound(self, *, files: bool) -> None:
        """Adapt to a rewind of the session; `recall` is called afterwards. `files` says whether files changed."""

    def preview(self, action: ActionT) -> Sequence[FileChange]:
        """Return the changes that the action would make, without making them; empty if they are unknown."""
        return ()

    def preparation(self, action: ActionT) -> Callable[[], ObservationT | None] | None:
        """Return a function for slow work that must precede `preview`, such as calling a model; None if there is none.

        The function is called before the user is asked about the action, and `interrupt` ends it. It returns None, or
        an observation that says why the action cannot be run.
        """
        return None

    def working_dir(self) -> str | None:
        """Return the directory that an action would run in, if actions can change it; None means the workspace."""
        return None

    def interrupt(self) -> None:
        """End a running `__call__` soon; called from another thread. It still returns an observation."""

    def close(self) -> None:
        """Release all resources, and end all processes that the executor started."""
