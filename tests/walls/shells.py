"""A shell in a sandbox or a container, as a session starts it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.sandbox import Sandbox as User
from workbench.sandbox.container import Container
from workbench.sandbox.sandbox import Sandbox
from workbench.tools.execute_bash import BashTool
from workbench.tools.execute_bash.definition import ExecuteBashInSandbox, ExecuteBashObservation


def shell_in(place: Sandbox | Container, user: User, directory: Path | None = None) -> Iterator[BashTool]:
    """Yield a shell in the user's project, or in another directory; it is closed afterwards."""
    tool = BashTool(directory or user.project, state_dir=user.home / "state", sandbox=place)
    yield tool
    assert tool.executor is not None
    tool.executor.close()


def bash(tool: BashTool, command: str, **more: object) -> ExecuteBashObservation:
    """Run a command in the shell."""
    assert tool.executor is not None
    return tool.executor(ExecuteBashInSandbox(command=command, **more))
