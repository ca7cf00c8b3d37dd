"""What each sandbox adds to the start of the shell and to a command, in turns with a shell without one."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.bench.measure import Measure
from workbench.config.locations import Locations
from workbench.sandbox.partial_sandbox import PartialSandbox
from workbench.sandbox.sandbox import Boundary, Sandbox
from workbench.tools.execute_bash.definition import ExecuteBashAction
from workbench.tools.execute_bash.impl import BashExecutor

_STARTS, _COMMANDS = 9, 8
_ADDED_TO_START, _ADDED_TO_COMMAND = 30.0, 1.0


def measures() -> list[Measure]:
    """Return both measures of this file for each sandbox."""
    return [*_measures("sandbox", Sandbox), *_measures("partial sandbox", PartialSandbox)]


def _measures(name: str, kind: type[Sandbox]) -> list[Measure]:
    starts: list[tuple[float, float]] = []
    commands: list[tuple[float, float]] = []
    with _shells(kind) as (confined, free):
        for _ in range(_STARTS):
            starts.append((_taken(confined, reset=True), _taken(free, reset=True)))
            commands += [(_taken(confined), _taken(free)) for _ in range(_COMMANDS)]
    return [
        _measure(f"{name}: the start of the shell, over one without", starts, _ADDED_TO_START),
        _measure(f"{name}: a command, over one without", commands, _ADDED_TO_COMMAND),
    ]


@contextmanager
def _shells(kind: type[Sandbox]) -> Iterator[tuple[BashExecutor, BashExecutor]]:
    with tempfile.TemporaryDirectory(prefix="ohw-bench-") as name:
        workspace = Path(name).resolve()
        sandbox = kind(Boundary(workspace, Locations.from_environment(), Path.home()))
        confined, free = BashExecutor(workspace, sandbox=sandbox), BashExecutor(workspace)
        try:
            yield confined, free
        finally:
            confined.close()
            free.close()
            sandbox.close()


def _taken(shell: BashExecutor, *, reset: bool = False) -> float:
    start = time.perf_counter()
    shell(ExecuteBashAction(command="" if reset else "true", reset=reset))
    return time.perf_counter() - start


def _measure(name: str, pairs: list[tuple[float, float]], most: float) -> Measure:
    confined, free = (statistics.median(column) * 1e3 for column in zip(*pairs, strict=True))
    added = confined - free
    return Measure(name, added, "ms", free, most, added <= most)
