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
"""How a decision names the reason that an action needs no question: it cannot reach anything outside."""
SERVER: Final = "MCP server"
"""The first words of the name of a program that is an MCP server, which runs between calls of tools too."""
AGENT: Final = "agent"
"""The first word of the name of a program that is another agent."""


@dataclass(frozen=True)
class ProgramStart:
    """What a supervisor executes, in which environment, and the descriptors that the sandbox needs."""

    argv: Sequence[str]
    env: Mapping[str, str]
    """The environment of the supervisor. A program in a sandbox gets its own from the command line of the sandbox."""
    descriptors: Sequence[int] = ()
    """Inherited by the supervisor; the first is the socket on which it sends the listener of the proxy."""
    has_own_terminal: bool = False
    """Whether it is a client of a program in a container, which has another terminal."""
    is_partial: bool = False
    """Whether the supervisor's child confines itself, with Landlock."""

    @property
    def words(self) -> str:
        """The descriptors as an argument of the supervisor; empty without a sandbox."""
        return f"{MARK if self.is_partial else ''}{','.join(map(str, self.descriptors))}"


class Launcher(Protocol):
    """Starts programs, inside a sandbox if it holds."""

    @property
    def holds(self) -> bool:
        """Whether programs are confined: the sandbox was proven on this machine."""

    @property
    def containment(self) -> str:
        """How a decision names the reason that what runs cannot reach anything outside; empty if it can."""

    @property
    def directory(self) -> Path | None:
        """Where programs find the temporary files of tools, if not where tools usually have them."""

    @property
    def granted(self) -> Sequence[str]:
        """The directories that commands may write besides the workspace; what is started now may write these."""

    @property
    def container_path(self) -> str:
        """A second path of the workspace inside, as some containers have it; empty if there is none."""

    def is_waiting(self, program: str) -> bool:
        """Return whether a program of that name waits until the user has decided on a host."""

    def refused_since(self, program: str, since: float) -> Sequence[str]:
        """Return a line for each host that was refused to a program since a time of `time.monotonic`."""

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
        """Return the launch of a program with an environment, which is extended with what the sandbox needs.

        The descriptors of the launch are closed after the block, in which the program is started.
        `writable` and `readable` are directories that it needs besides those of the sandbox, and `private` one that
        stands for /tmp in place of the session's own. `name` is what the program is called where it wants to reach a
        host, by default the name of its file. Raises OSError.
        """
