"""What a container costs: its start over that of podman alone, and a command in its shell over one that podman starts.

Podman's containers are those of the tests: an image of static programs, in a storage of its own.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.bench.measure import Measure
from tests.containers.images import WITH_BASH, make_images, storage
from workbench.config.locations import Locations
from workbench.config.settings import ContainerSettings
from workbench.sandbox.container import Container
from workbench.sandbox.sandbox import Boundary
from workbench.tools.execute_bash.definition import ExecuteBashAction
from workbench.tools.execute_bash.impl import BashExecutor

_STARTS, _COMMANDS = 5, 10
_START, _COMMAND = 1.3, 1.2


def measures() -> list[Measure]:
    """Return both measures."""
    with _workspace() as workspace:
        starts = [(_taken(lambda: _started(workspace).close()), _taken(_run_alone)) for _ in range(_STARTS)]
        container = _started(workspace)
        shell = BashExecutor(workspace, sandbox=container)
        try:
            (name,) = _podman("ps", "--format", "{{.Names}}").split()
            action = ExecuteBashAction(command="true")
            shell(action)
            commands = [
                (_taken(lambda: shell(action)), _taken(lambda: _podman("exec", name, "true"))) for _ in range(_COMMANDS)
            ]
        finally:
            shell.close()
            container.close()
    return [
        _measure("container: start and end, over podman run", starts, _START),
        _measure("container: `true` in the shell, over podman exec", commands, _COMMAND),
    ]


@contextmanager
def _workspace() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="ohw-bench-", ignore_cleanup_errors=True) as name:
        directory = Path(name).resolve()
        os.environ.update(storage(directory))
        make_images(directory, dict(os.environ))
        (directory / "workspace").mkdir()
        yield directory / "workspace"


def _started(workspace: Path) -> Container:
    boundary = Boundary(workspace, Locations.from_environment(), Path.home())
    container = Container(ContainerSettings(image=WITH_BASH), boundary, workspace.parent / "outputs")
    failure = container.await_start(lambda: False, lambda step: None)
    assert not failure, failure
    return container


def _run_alone() -> None:
    _podman("run", "--rm", "--network", "none", WITH_BASH, "true")


def _podman(*words: str) -> str:
    return subprocess.run(["podman", *words], capture_output=True, text=True, check=True).stdout


def _taken(do: Callable[[], object]) -> float:
    start = time.perf_counter()
    do()
    return time.perf_counter() - start


def _measure(name: str, pairs: list[tuple[float, float]], most: float) -> Measure:
    ours, alone = (statistics.median(column) * 1e3 for column in zip(*pairs, strict=True))
    return Measure(name, ours, "ms", alone, most * alone, ours <= most * alone)
