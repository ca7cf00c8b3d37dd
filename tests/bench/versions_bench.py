"""What a version of the files costs after one change in a tree of 5,000; the thread of a run waits for none of it."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from tests.bench.measure import Measure
from workbench.config import Locations
from workbench.session.versions.deltas import deltas
from workbench.session.versions.repository import Repository

FILES, TIMES, BUDGET = 5_000, 21, 40.0


def measures() -> list[Measure]:
    """All measures of this file."""
    with tempfile.TemporaryDirectory(prefix="ohw-bench-") as name:
        folder = Path(name)
        kept = Repository(Locations.from_environment({"HOME": str(folder / "home")}), folder / "work", "bench")
        for number in range(FILES):
            path = kept.workspace / f"d{number // 50}/f{number}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"x = {number}\n" * 40)
        kept.prepare()
        began = time.perf_counter()
        kept.take()
        first = time.perf_counter() - began
        watched = _after_changes(kept, ["d7/f350.py"])
        whole = _after_changes(kept, None)
        return [
            Measure(f"first version of {FILES:,} files", first, "s", None, None, True),
            Measure(
                "version after one change, the watcher's path", watched[0], "ms", None, BUDGET, watched[0] <= BUDGET
            ),
            Measure("version after one change, everything looked at", whole[0], "ms", None, None, True),
            Measure("its texts for the log", watched[1], "ms", None, None, True),
        ]


def _after_changes(kept: Repository, paths: list[str] | None) -> tuple[float, float]:
    """Milliseconds of a version and of its texts, each the median."""
    taken, told, before = [], [], kept.take()
    for number in range(TIMES):
        (kept.workspace / "d7/f350.py").write_text(f"y = {number}, {paths}\n" * 41)
        began = time.perf_counter()
        version = kept.take(paths)
        taken.append(time.perf_counter() - began)
        began = time.perf_counter()
        deltas(kept, kept.difference(before, version), {})
        told.append(time.perf_counter() - began)
        before = version
    return statistics.median(taken) * 1e3, statistics.median(told) * 1e3


if __name__ == "__main__":
    for one in measures():
        print(one)
