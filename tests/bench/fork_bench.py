"""A fork of a session of 10,000 events, cold: how long it takes in a new process, and how large its file is."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.bench.measure import Measure
from tests.bench.time_bench import EVENTS, recorded_events
from tests.session.long_run import locations
from workbench.session.session_names import session_path
from workbench.session.storage.store import Store

LIMIT_MS, SHARE = 100.0, 0.05
_TIMES = 5
_FORK = """
import sys, time
from pathlib import Path
from tests.session.long_run import locations
from workbench.session.forks import fork_at
began = time.perf_counter()
fork = fork_at(locations(Path(sys.argv[1])), "s1")
print((time.perf_counter() - began) * 1e3, fork.id)
"""
"""Forks the session; the modules are loaded before the time is taken, as in the engine."""


def measures() -> list[Measure]:
    """All measures of this file."""
    with tempfile.TemporaryDirectory(prefix="ohw-bench-") as name:
        workspace = Path(name).resolve() / "work"
        path = _recorded(workspace)
        forks = [_fork(workspace) for _ in range(_TIMES)]
        took = min(milliseconds for milliseconds, _ in forks)
        size, whole = (each.stat().st_size / 1e6 for each in (session_path(locations(workspace), forks[0][1]), path))
    return [
        Measure(f"fork of a session of {EVENTS:,} events", took, "ms", None, LIMIT_MS, took <= LIMIT_MS),
        Measure("size of its file", size, "MB", whole, SHARE * whole, size <= SHARE * whole),
    ]


def _recorded(workspace: Path) -> Path:
    workspace.mkdir()
    path = session_path(locations(workspace), "s1")
    path.parent.mkdir(parents=True, mode=0o700)
    with Store.create(path) as store:
        store.append(*recorded_events())
    return path


def _fork(workspace: Path) -> tuple[float, str]:
    """Return the milliseconds of a fork in a new process, and the id of the fork."""
    command = [sys.executable, "-c", _FORK, str(workspace)]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    milliseconds, name = output.split()
    return float(milliseconds), name


if __name__ == "__main__":
    for one in measures():
        print(one)
