"""Cost of glob and grep on 20,000 files, compared with ripgrep alone in the same run; also without ripgrep.

Run it alone: `python -m tests.bench search`. Without ripgrep the numbers have no reference.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.bench.measure import Measure
from workbench.tools.glob.definition import GlobTool
from workbench.tools.grep.definition import GrepTool

FILES = 20_000
LINE = "def some_name(argument: int) -> str:  # what it does is of no interest here\n"
NEEDLE = "a needle in the hay"


def plant(directory: Path) -> None:
    """Create 20,000 files of 40 lines in 200 directories; every 400th contains the needle."""
    for number in range(FILES):
        inside = directory / f"part{number % 200:03}"
        inside.mkdir(exist_ok=True)
        text = LINE * 40 + (f"# {NEEDLE}\n" if number % 400 == 0 else "")
        (inside / f"module{number}.{'py' if number % 2 else 'txt'}").write_text(text)


def seconds(work: Callable[[], object], times: int = 7) -> float:
    """Return the median of several runs, after one warm-up run."""
    took = []
    for _ in range(times + 1):
        began = time.perf_counter()
        work()
        took.append(time.perf_counter() - began)
    return statistics.median(took[1:])


def listing(directory: Path) -> None:
    """List matching files by modification time, newest last, with ripgrep alone: the part of glob's work that it can
    do.
    """
    command = ["rg", "--files", "--sort=modified", "--glob=*.py"]
    assert subprocess.run(command, cwd=directory, capture_output=True, check=True).stdout.count(b"\n") == FILES // 2


def searching(directory: Path) -> None:
    """Do grep's work with ripgrep alone."""
    command = ["rg", "--line-number", NEEDLE, "./"]
    assert subprocess.run(command, cwd=directory, capture_output=True, check=True).stdout.count(b"\n") == FILES // 400


def measures() -> list[Measure]:
    """Both tools beside ripgrep, and without it."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        plant(directory)
        glob, grep = GlobTool(directory), GrepTool(directory)

        def find() -> None:
            observation = glob(glob.action_from_arguments({"pattern": "**/*.py"}))
            assert getattr(observation, "found", 0) == FILES // 2, observation.text

        def search() -> None:
            observation = grep(grep.action_from_arguments({"pattern": NEEDLE}))
            assert getattr(observation, "matched_lines", 0) == FILES // 400, observation.text

        works = (("glob", find, listing), ("grep", search, searching))
        return [row for what, work, alone in works for row in _rows(what, work, lambda alone=alone: alone(directory))]


def _rows(what: str, work: Callable[[], object], alone: Callable[[], object]) -> list[Measure]:
    base = seconds(alone) * 1e3 if shutil.which("rg") else None
    rows = []
    if base is not None:
        value, budget = seconds(work) * 1e3, 1.5 * base
        rows.append(Measure(f"{what} on {FILES:,} files", value, "ms", base, budget, value <= budget))
    path, os.environ["PATH"] = os.environ["PATH"], "/nowhere"
    try:
        value = seconds(work, 3) * 1e3
        rows.append(Measure(f"{what} on {FILES:,} files without ripgrep", value, "ms", base, None, True))
    finally:
        os.environ["PATH"] = path
    return rows
