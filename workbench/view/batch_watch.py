"""The model of the screen that watches a run: which tasks it shows, in which order, and where the cursor is."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from workbench.batch.attempt_states import STATE_GROUPS, urgency
from workbench.batch.watched_run import AttemptStatus, RunView, TaskRow
from workbench.view import clock

SORTS: Final = ("task order", "state", "cost", "duration")
_MOST_POINTS: Final = 200
_MOST_TICKS: Final = 6


class OpenedAttempt(Struct, frozen=True):
    """An attempt whose session is to be shown: its file if it has ended, else the session's ID on this machine."""

    file: Path | None = None
    session: str = ""


@dataclass
class WatchPosition:
    """What the user has chosen on the screen; it outlives the screen, which closes while a session is shown."""

    group: str = "all"
    """A name of `STATE_GROUPS`."""
    words: str = ""
    """All of them are in the ID of a task or in its tags."""
    sort: str = SORTS[0]
    task: str = ""
    model: str = ""
    page: tuple[str, str, int] | None = None
    """The names of the attempt whose page is open."""
    shows_plots: bool = False
    opened: OpenedAttempt | None = None
    """The session that is shown once the screen is closed."""

    @property
    def is_filtered(self) -> bool:
        """Whether some tasks may be hidden."""
        return bool(self.group != "all" or self.words)


def visible_rows(view: RunView, group: str, words: str, sort: str) -> Sequence[TaskRow]:
    """Return the tasks with an attempt in one of the group's states and with all words, in the order of `sort`."""
    states, parts = STATE_GROUPS[group], words.casefold().split()
    rows = [row for row in view.rows if _has_words(row, parts)] if parts else view.rows
    if states:
        rows = [row for row in rows if any(status.state in states for status in row.statuses)]
    order = _sort_keys().get(sort)
    return sorted(rows, key=order) if order is not None else rows


def _has_words(row: TaskRow, parts: Sequence[str]) -> bool:
    text = " ".join((row.task.id, *row.task.tags)).casefold()
    return all(part in text for part in parts)


def _sort_keys() -> dict[str, Callable[[TaskRow], Any]]:
    """Return the key of each order but that of the tasks."""
    now = clock.now().timestamp()
    return {
        "state": lambda row: min((urgency(status.state) for status in row.statuses), default=0),
        "cost": lambda row: -sum(status.cost for status in row.statuses),
        "duration": lambda row: -max((status.seconds(now) for status in row.statuses), default=0.0),
    }


class RunCurve(Struct, frozen=True):
    """The running total of a quantity; the times are in hours from the start of the run."""

    name: str
    hours: Sequence[float]
    sums: Sequence[float]


class RunCurves(Struct, frozen=True):
    """What a run has solved and cost over time, by model."""

    solved: Sequence[RunCurve]
    cost: Sequence[RunCurve]


def curves_of(view: RunView) -> RunCurves:
    """Return the curves of a run, each with at most a few hundred points."""
    ended = [status.outcome for row in view.rows for status in row.statuses if status.outcome is not None]
    ended.sort(key=lambda each: each.started + each.total_seconds)
    start = min((each.started for each in ended), default=0.0)
    names = [*view.models]
    points: dict[str, tuple[list[float], list[float], list[float]]] = {name: ([0.0], [0.0], [0.0]) for name in names}
    for outcome in ended:
        hours, solved, cost = points[outcome.model]
        hours.append((outcome.started + outcome.total_seconds - start) / 3_600)
        solved.append(solved[-1] + (outcome.state == "solved"))
        cost.append(cost[-1] + outcome.cost)
    return RunCurves(
        [RunCurve(name, _thinned(points[name][0]), _thinned(points[name][1])) for name in names],
        [RunCurve(name, _thinned(points[name][0]), _thinned(points[name][2])) for name in names],
    )


def _thinned(numbers: Sequence[float]) -> Sequence[float]:
    """Return at most a few hundred of the numbers, the last one among them."""
    step = max(1, len(numbers) // _MOST_POINTS)
    return [*numbers[:-1:step], numbers[-1]]


def round_ticks(most: float) -> Sequence[float]:
    """Return about five round numbers from 0 to at most `most` for an axis; at least 0 and 1."""
    if most <= 0:
        return [0.0, 1.0]
    power = 10.0 ** math.floor(math.log10(most))
    step = next(each * power for each in (0.2, 0.5, 1.0, 2.0) if most / (each * power) <= _MOST_TICKS)
    return [round(number * step, 10) for number in range(int(most / step + 1e-9) + 1)]


def status_in(view: RunView, names: tuple[str, str, int]) -> AttemptStatus | None:
    """Return an attempt as it is now; None if the run does not have it."""
    task, model, number = names
    row = next((row for row in view.rows if row.task.id == task), None)
    cell = row.cells.get(model, ()) if row is not None else ()
    return next((status for status in cell if status.attempt.number == number), None)
