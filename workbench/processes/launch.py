"""How a supervisor starts a program: as it is, or inside a sandbox."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from workbench.processes.landlock_child import MARK

IN_SANDBOX: Final = "inside the sandbox"
IN_CONTAINER: Final = "inside the container"
"""Why an action needed no approval: it cannot reach anything outside. Recorded with the decision."""
SERVER: Final = "MCP server"
"""How the name of a program starts if it is an MCP server, which also runs between tool calls."""
AGENT: Final = "agent"
"""How the name of a program starts if it is another agent."""


@dataclass(frozen=True)
class ProgramStart:
    """What a supervisor executes, with which environment, and the descriptors that the sandbox needs."""

    argv: Sequence[str]
    env: Mapping[str, str]
    """The environment of the supervisor. A program in a sandbox gets its environment from the sandbox's command
    line.
    """
    descriptors: Sequence[int] = ()
    """The descriptors that the supervisor inherits; through the first, it sends the listener of the proxy."""
    has_own_terminal: bool = False
    """Whether `argv` is only the client of a program in a container, and that program has a terminal of its own."""
    kill_all: Sequence[str] = ()
    """The command that kills the program and what it has started, where they may not be processes that this user sees;
    empty elsewhere.
    """
    is_partial: bool = False
    """Whether the supervisor's child confines itself with Landlock."""

    @property
    def words(self) -> str:
        """The descriptors as an argument of the supervisor; empty without a sandbox."""
        return f"{MARK if self.is_partial else ''}{','.join(map(str, self.descriptors))}"


class Launcher(Protocol):
    """Starts programs, inside the sandbox if it is in effect."""

    @property
    def holds(self) -> bool:
        """Whether programs are confined, because the sandbox was proven to work on this machine."""

    @property
    def containment(self) -> str:
        """The reason to record when a program cannot reach anything outside (see `IN_SANDBOX`); empty if it can."""

    @property
    def directory(self) -> Path | None:
        """The directory where tools must put temporary files that programs read; None if any directory will do."""

    @property
    def granted(self) -> Sequence[str]:
        """The directories, besides the workspace, that programs started from now on may write to."""

    @property
    def container_path(self) -> str:
        """A second path under which programs see the workspace, as in some containers; empty if there is none."""

    def is_waiting(self, program: str) -> bool:
        """Return whether the program with this name is waiting for the user to decide on a host."""

    def refused_since(self, program: str, since: float) -> Sequence[str]:
        """Return one line for each host that was refused to a program since `since`, a time of `time.monotonic`."""

    def launch(
        self,
        argv: Sequence[str],
        directory: Path | str,
        env: Mapping[str, str],
        *,
        writable: Sequence[Path] = (),
        readable: Sequence[Path] = (),
        private: Path | None = None,
        name: str = "",
    ) -> AbstractContextManager[ProgramStart]:
        """Return a context manager that yields how to start a program, with `env` plus what the sandbox needs.

        Start the program inside the block, because the descriptors are closed after it. `writable` and `readable` are
        directories that the program needs besides those of the sandbox; `private` is a directory to use as /tmp instead
        of the session's own. `name` identifies the program in questions about hosts (default: its file name). Raises
        OSError.
        """
