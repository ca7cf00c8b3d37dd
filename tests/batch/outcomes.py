"""Small runs with outcomes of a test's own, written as `ohw batch` writes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from workbench.batch.attempt import AttemptOutcome
from workbench.batch.results import Results
from workbench.batch.run_directory import RunDirectory, RunOptions
from workbench.batch.task import TaskSpec

SMALL, LARGE = "lab/small", "lab/large"


def task(name: str, check: str = "pytest", prompt: str = "Fix it", **more: Any) -> TaskSpec:
    return TaskSpec(name, prompt=prompt, check=check, **more)


def outcome(name: str, model: str = SMALL, number: int = 1, **more: Any) -> AttemptOutcome:
    fields = {"ending": "finished", "steps": 4, "seconds": 10.0, "input": 1000, "output": 50, "cost": 0.5, **more}
    return AttemptOutcome(name, model, number, **fields)


def solved(name: str, model: str = SMALL, number: int = 1, **more: Any) -> AttemptOutcome:
    return outcome(name, model, number, **{"solved": True, "check_status": 0, **more})


def unsolved(name: str, model: str = SMALL, number: int = 1, **more: Any) -> AttemptOutcome:
    fields = {"detail": "check: exit code 1", **more}
    return outcome(name, model, number, solved=False, check_status=1, **fields)


def write_run(
    path: Path, tasks: Sequence[TaskSpec], outcomes: Iterable[AttemptOutcome], models: Sequence[str] = (SMALL, LARGE)
) -> Path:
    """Write the directory of a run in which each attempt has this outcome."""
    outcomes = list(outcomes)
    attempts = max((each.attempt for each in outcomes), default=1)
    directory = RunDirectory(path).create(RunOptions(tuple(models), attempts), tasks)
    directory.close()
    results = Results(directory.results)
    for each in outcomes:
        results.add(each)
    results.close()
    return path
