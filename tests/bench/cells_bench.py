"""Overhead of a cell through the whole tool, compared with IPython alone in the same run.

Run it alone: `python -m tests.bench.cells_bench`.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

from tests.bench.measure import Measure
from workbench.tools import IPythonTool

IMPORTED = "from IPython.core.interactiveshell import InteractiveShell; InteractiveShell.instance().run_cell('1')"


def took(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def cell(tool: IPythonTool, code: str) -> Callable[[], object]:
    def run() -> None:
        seen = tool(tool.action_from_arguments({"code": code}))
        assert not seen.is_error, seen.text

    return run


def measures() -> list[Measure]:
    """Measure the time to the result of the first cell, and the round trip of a trivial cell."""
    starts, rounds = [], []
    command = [sys.executable, "-c", IMPORTED]
    with tempfile.TemporaryDirectory(prefix="cells-bench-") as directory:
        bare = min(took(lambda: subprocess.run(command, check=True, capture_output=True)) for _ in range(5))
        for _ in range(5):
            with IPythonTool(directory) as tool:
                starts.append(took(cell(tool, "1 + 1")))
        with IPythonTool(directory) as tool:
            cell(tool, "x = 1")()
            rounds = [took(cell(tool, "x + 1")) for _ in range(200)]
    ready, trip = min(starts), statistics.median(rounds) * 1e3
    return [
        Measure("execute_ipython_cell: start to the first result", ready, "s", bare, 0.5, ready <= 0.5),
        Measure("execute_ipython_cell: x + 1", trip, "ms", None, 10.0, trip <= 10.0),
    ]


if __name__ == "__main__":
    for row in measures():
        print(row)
