"""Cost of a snapshot after one change in a tree of 5,000 files; the thread of the run never waits for it."""

from __future__ import annotations

import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.bench.measure import Measure
from workbench.config.locations import Locations
from workbench.files.git import OwnRepository, run_git
from workbench.session.workspace.repository import SnapshotRepository
from workbench.session.workspace.snapshots import deltas

FILES, TIMES, BUDGET = 5_000, 21, 40.0


def measures() -> list[Measure]:
    """All measures of this file."""
    with tempfile.TemporaryDirectory(prefix="ohw-bench-") as name:
        directory = Path(name)
        repository = SnapshotRepository(
            Locations.from_environment({"HOME": str(directory / "home")}), directory / "work", "bench"
        )
        for number in range(FILES):
            path = repository.workspace / f"d{number // 50}/f{number}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"x = {number}\n" * 40)
        repository.prepare()
        began = time.perf_counter()
        repository.snapshot()
        first = time.perf_counter() - began
        start = _git_start(repository)
        watched = _after_changes(repository, ["d7/f350.py"])
        whole = _after_changes(repository, None)
        watcher, everything = "version after one change, the watcher's path", "version after one change, whole tree"
        return [
            Measure(f"first version of {FILES:,} files", first, "s", None, None, True),
            Measure(f"{watcher}: processor time", watched[0], "ms", start[0], None, True),
            Measure(f"{watcher}: as it took", watched[1], "ms", start[1], BUDGET, watched[1] <= BUDGET),
            Measure(f"{everything}: processor time", whole[0], "ms", start[0], None, True),
            Measure(f"{everything}: as it took", whole[1], "ms", start[1], None, True),
            Measure("its texts for the log: processor time", watched[2], "ms", start[0], None, True),
        ]


def _processor() -> float:
    """Seconds of processor time so far, of this process and of those it waited for."""
    mine, theirs = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return sum(each.ru_utime + each.ru_stime for each in (mine, theirs))


def _spent(work: Callable[[], object]) -> tuple[float, float]:
    """Return milliseconds of processor time and of wall-clock time."""
    used, began = _processor(), time.perf_counter()
    work()
    return (_processor() - used) * 1e3, (time.perf_counter() - began) * 1e3


def _git_start(repository: SnapshotRepository) -> tuple[float, float]:
    """Measure a git process that does nothing (median): the unit of which the other figures consist."""
    own = OwnRepository(repository.directory, repository.workspace)
    spent = [_spent(lambda: run_git(["version"], cwd=repository.workspace, own=own)) for _ in range(TIMES)]
    return statistics.median(one for one, _ in spent), statistics.median(one for _, one in spent)


def _after_changes(repository: SnapshotRepository, paths: list[str] | None) -> tuple[float, float, float]:
    """Return a snapshot's processor time and wall-clock time, and the processor time of its texts; each the median."""
    taken, told, before = [], [], repository.snapshot()
    for number in range(TIMES):
        (repository.workspace / "d7/f350.py").write_text(f"y = {number}, {paths}\n" * 41)
        taken.append(_spent(lambda: repository.snapshot(paths)))
        version = repository.snapshot(())
        told.append(_spent(partial(_texts, repository, before, version))[0])
        before = version
    used, took = (statistics.median(column) for column in zip(*taken, strict=True))
    return used, took, statistics.median(told)


def _texts(repository: SnapshotRepository, before: str, version: str) -> None:
    deltas(repository, repository.difference(before, version), {})


if __name__ == "__main__":
    for one in measures():
        print(one)
