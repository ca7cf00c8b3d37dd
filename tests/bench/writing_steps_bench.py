"""Steps that write one file each, in trees of several sizes: a step in a large tree against one in a small tree."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from itertools import pairwise
from pathlib import Path

from tests.bench.measure import Measure
from tests.session.long_run import NAME, locations
from workbench.config.settings import Settings
from workbench.protocol.events import ActionObserved, Event, VersionTaken
from workbench.session.session_factory import start_session

SMALL = 100
LARGER = {5_000: 1.2, 20_000: 1.5}
"""The most that a step may take, by the number of files in the tree, as a multiple of the step in the small tree."""
STEPS = 30
_BIG_FILE = 1_000_000_000
_SCRIPT = """
[[turn]]
name = "again"
after = ["start", "again"]
text = "On with it."
[[turn.call]]
tool = "execute_bash"
summary = "Write a file"
arguments = { command = "date +%N > one.txt" }
"""


def tree(workspace: Path, files: int) -> None:
    """Make a tree of small source files, 50 in a directory."""
    workspace.mkdir()
    for number in range(files):
        directory = workspace / f"p{number // 2_500}/d{number // 50}"
        if number % 50 == 0:
            directory.mkdir(parents=True)
        (directory / f"f{number}.py").write_text(f"x_{number} = {number}\n" * (10 + number % 80))


def steps(workspace: Path) -> tuple[float, float]:
    """Return seconds from one writing action's result to the next one's (median), and those of the first snapshot.

    Raises AssertionError if an action has no snapshot of its own.
    """
    script = workspace.with_name(f"{workspace.name}.toml")
    script.write_text(_SCRIPT)
    settings = Settings(model=f"scripted/{script}", mode="never", max_steps=STEPS, stop_loops=False, condense_events=0)
    ended: list[float] = []
    versions: dict[str, float] = {}

    def heard(event: Event) -> None:
        if isinstance(event, ActionObserved):
            ended.append(time.perf_counter())
        if isinstance(event, VersionTaken) and event.version:
            versions.setdefault(event.action_id, time.perf_counter())  # the first and the last have the same id

    opened = start_session(locations(workspace), settings, workspace, NAME, on_event=heard, on_live=lambda event: None)
    began = time.perf_counter()
    try:
        opened.session.send("go")
        while opened.session.step():
            pass
    finally:
        opened.close()
    assert len(versions) >= len(ended), f"{len(versions)} snapshots of {len(ended)} actions"
    late = [after - before for before, after in pairwise(ended)][len(ended) // 3 :]
    return statistics.median(late), versions[""] - began


def measures() -> list[Measure]:
    """All measures of this file."""
    os.environ["OHW_SCRIPT_PACE"] = "0"
    results: list[Measure] = []
    with tempfile.TemporaryDirectory(prefix="ohw-bench-") as name:
        small = _measured(Path(name) / "small", SMALL)[0]
        results.append(Measure(f"writing step, {SMALL} files", small * 1e3, "ms", None, None, True))
        for files, factor in LARGER.items():
            step, first = _measured(Path(name) / str(files), files)
            budget = factor * small
            results += [
                Measure(f"writing step, {files:,} files", step * 1e3, "ms", small * 1e3, budget * 1e3, step <= budget),
                Measure(f"first snapshot, {files:,} files", first, "s", None, None, True),
            ]
        step = _beside_a_big_file(Path(name) / "big")
        budget = LARGER[5_000] * small
        results.append(
            Measure("writing step, 1 GB file beside", step * 1e3, "ms", small * 1e3, budget * 1e3, step <= budget)
        )
    return results


def _measured(workspace: Path, files: int) -> tuple[float, float]:
    tree(workspace, files)
    return steps(workspace)


def _beside_a_big_file(workspace: Path) -> float:
    tree(workspace, SMALL)
    with (workspace / "data.bin").open("wb") as file:
        file.truncate(_BIG_FILE)
    return steps(workspace)[0]


if __name__ == "__main__":
    for one in measures():
        print(one)
