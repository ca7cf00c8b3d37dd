"""Runs the measures of an area, again if the machine was busy, and compares the results with those of another run."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from tests.bench.measure import Measure
from tests.bench.pressure import Pressure

BUSY = 0.2
"""The machine counts as busy if processes waited for at least this share of the time."""
MOST_RUNS = 3
_SHORT = 10.0
"""Seconds: an area that takes less runs at least twice, so that the spread is known."""
_WORSE = 0.15
"""How much worse than another run's a result must be, beyond the spread of both, to count as worse."""


class Result(msgspec.Struct, frozen=True):
    """A measure of the quietest run, and how far the runs were apart."""

    measure: Measure
    spread: float | None = None
    """The difference between the highest and the lowest value of all runs, as a share of this one; None for one run."""
    pressure: float | None = None
    """The share of the time in which processes waited for a processor during the run; None if it is not known."""


def areas() -> dict[str, str]:
    """Return the module of each area by its name."""
    modules = sorted(path.stem for path in Path(__file__).parent.glob("*_bench.py"))
    return {module.removesuffix("_bench"): f"tests.bench.{module}" for module in modules}


def results_of(area: str, until: float) -> list[Result]:
    """Run an area, again while the machine is busy and `until` (by `time.monotonic`) has not come."""
    return repeated(lambda: _measured(areas()[area]), until)


def _measured(module: str) -> list[Measure]:
    """Return the measures of a module, taken in a new process that no other area can have affected."""
    command = [sys.executable, "-m", "tests.bench.area", module]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    return msgspec.json.decode(output, type=list[Measure])


def repeated(measures: Callable[[], list[Measure]], until: float) -> list[Result]:
    """Return the measures of the run during which the machine was least busy."""
    runs: list[tuple[float | None, list[Measure]]] = []
    while len(runs) < MOST_RUNS:
        began, pressure = time.monotonic(), Pressure()
        taken = measures()
        runs.append((pressure.share, taken))
        is_short = time.monotonic() - began < _SHORT
        is_busy = (runs[-1][0] or 0) > BUSY
        if time.monotonic() > until or not (is_busy or (is_short and len(runs) == 1)):
            break
    share, quietest = min(runs, key=lambda run: run[0] or 0)
    return [Result(measure, _spread(measure, [other for _, other in runs]), share) for measure in quietest]


def _spread(measure: Measure, runs: Sequence[Sequence[Measure]]) -> float | None:
    values = [other.compared for run in runs for other in run if other.name == measure.name]
    return (max(values) - min(values)) / measure.compared if len(values) > 1 and measure.compared else None


def change(now: Result, before: Result) -> tuple[float, bool] | None:
    """Return the share by which a result has grown since another run, and whether that exceeds chance.

    None if there is nothing to compare.
    """
    old, new = before.measure.compared, now.measure.compared
    if not old or before.measure.unit != now.measure.unit:
        return None
    grown = new / old - 1
    return grown, grown > _WORSE + (now.spread or 0) + (before.spread or 0)
