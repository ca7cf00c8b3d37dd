"""Writes the outcomes of a run, and a comparison of runs, as CSV with a row for each attempt or task."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from workbench.batch.attempt import AttemptOutcome
from workbench.batch.run_comparison import TaskChange, TaskNumbers
from workbench.files.csv_lines import csv_line

_COLUMNS: Final = (*AttemptOutcome.__struct_fields__[:3], "state", *AttemptOutcome.__struct_fields__[3:])


def csv_of_attempts(outcomes: Iterable[AttemptOutcome]) -> Iterator[str]:
    """Yield a heading and a line for each attempt, with the columns of the table in `results.sqlite`."""
    return _lines(_COLUMNS, ([getattr(outcome, name) for name in _COLUMNS] for outcome in outcomes))


def csv_of_changes(changes: Iterable[TaskChange]) -> Iterator[str]:
    """Yield a heading and a line for each task, or task and model, of a comparison."""
    numbers = TaskNumbers.__struct_fields__
    columns = ("task", "model", *(f"{name}_{when}" for name in numbers for when in ("before", "now")))
    return _lines(columns, map(_cells, changes))


def _cells(change: TaskChange) -> list[object]:
    runs = (change.before, change.now)
    return [change.task, change.model, *(getattr(run, name) for name in TaskNumbers.__struct_fields__ for run in runs)]


def _lines(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    yield ",".join(columns)
    for row in rows:
        yield csv_line(int(cell) if isinstance(cell, bool) else cell for cell in row)
