"""Runs the setup and the check of a task in the container of its session, where the agent's commands run too."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from workbench.sandbox.container import Container
from workbench.sandbox.host_access import HostRequest, HostVerdict

_REASON: Final = "the setup of a task may reach every host"


def command_in(container: Container, command: str, workspace: Path, task: str) -> str:
    """Return the command that runs another one in the workspace in a container, where it ends with the container at
    the latest, and not with the command that is returned.

    Raises OSError if the container could not be started.
    """
    directory = container.container_path or str(workspace)
    return shlex.join(container.program(["bash", "-c", command], directory, {"OHW_TASK": task}))


class _EveryHost:
    """Allows every host: a setup is the user's own, and no one is there to ask."""

    def is_running(self, label: str) -> bool:
        """Return True: what runs now is the setup."""
        return True

    def decide(self, request: HostRequest) -> HostVerdict:
        """Allow the host."""
        return HostVerdict(True, _REASON, _REASON, None)


@contextmanager
def every_host(container: Container) -> Iterator[None]:
    """Let all public hosts be reached from a container whose network asks about hosts."""
    end = container.network.ask_from(_EveryHost()) if container.network is not None else None
    try:
        yield
    finally:
        if end is not None:
            end()
