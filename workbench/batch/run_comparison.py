"""Compares two runs: what the later one solves that the earlier one did not, and the reverse; and cost and steps."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final

import msgspec

from workbench.batch.attempt import AttemptOutcome
from workbench.batch.report import ran
from workbench.batch.statistics import mean_of, median_of, sign_test
from workbench.batch.task import TaskSpec


class TaskNumbers(msgspec.Struct, frozen=True):
    """What came of a task in one of the two runs, in which it may have had several attempts."""

    attempts: int
    rate: float | None
    """The share of them that solved it; None if it has no check in one of the runs."""
    cost: float
    """The mean cost of an attempt in US dollars, without calls whose price is unknown."""
    unpriced: int
    steps: float
    """The median of the attempts."""


class TaskChange(msgspec.Struct, frozen=True):
    """A task in both runs."""

    task: str
    model: str
    """Empty if the runs have no model in common: then all models are in the numbers."""
    before: TaskNumbers
    now: TaskNumbers

    @property
    def difference(self) -> float:
        """How much the rate has risen; 0 for a task without a check."""
        return (self.now.rate or 0.0) - (self.before.rate or 0.0)


class RunNumbers(msgspec.Struct, frozen=True):
    """One of the two runs. Costs are of one attempt at each task, with each model that is compared."""

    name: str
    rate: float | None
    """The mean over tasks; None if none has a check in both runs."""
    cost: float
    unpriced: int
    steps: float
    """The sum of the medians of the tasks."""
    own_models: Sequence[str]
    """Models that only this run tried."""
    own_tasks: Sequence[str]
    """Tasks that only this run tried."""


class RunComparison(msgspec.Struct, frozen=True):
    """All numbers of a comparison."""

    before: RunNumbers
    now: RunNumbers
    models: Sequence[str]
    """The models that both runs tried, which are compared one by one."""
    tasks: int
    """Tasks that are compared."""
    altered: Sequence[str]
    """Those that do not ask or check the same in both runs."""
    checked: int
    """Those that have a check."""
    better: int
    """Tasks that are solved more often, over all models that are compared."""
    worse: int
    p: float
    """The two-sided sign test over tasks."""
    changes: Sequence[TaskChange]


class ComparedRun(msgspec.Struct, frozen=True):
    """One of the two runs, with the tasks that it was started with."""

    name: str
    outcomes: Sequence[AttemptOutcome]
    tasks: Sequence[TaskSpec]


def compare_runs(before: ComparedRun, now: ComparedRun) -> RunComparison:
    """Compare the attempts in which the agent ran: by task and model, or by task if no model is in both runs."""
    earlier, later = ([outcome for outcome in run.outcomes if ran(outcome)] for run in (before, now))
    common = {outcome.model for outcome in earlier} & {outcome.model for outcome in later}
    first, second = (_grouped(outcomes, common) for outcomes in (earlier, later))
    specs, later_specs = ({task.id: task for task in run.tasks} for run in (before, now))
    checked = {name for name in specs.keys() & later_specs.keys() if specs[name].check and later_specs[name].check}
    changes = [
        TaskChange(*key, *(_numbers(outcomes[key], key[0] in checked) for outcomes in (first, second)))
        for key in sorted(first.keys() & second.keys())
    ]
    compared = {change.task for change in changes}
    differences = _differences(changes)
    better, worse = (sum(value * sign > 0 for value in differences.values()) for sign in (1, -1))
    return RunComparison(
        before=_sums(before.name, [change.before for change in changes], earlier, later),
        now=_sums(now.name, [change.now for change in changes], later, earlier),
        models=sorted(common),
        tasks=len(compared),
        altered=sorted(name for name in compared if _is_altered(specs.get(name), later_specs.get(name))),
        checked=len(differences),
        better=better,
        worse=worse,
        p=sign_test(better, worse),
        changes=changes,
    )


_ASKED: Final = ("prompt", "revision", "image", "image_path", "setup", "check")
"""The fields that make a task what it is; limits, models and modes are what runs differ in, and the path of a workspace
is another one in each clone.
"""


def _is_altered(before: TaskSpec | None, now: TaskSpec | None) -> bool:
    return before is None or now is None or any(getattr(before, name) != getattr(now, name) for name in _ASKED)


def _grouped(
    outcomes: Iterable[AttemptOutcome], models: Collection[str]
) -> dict[tuple[str, str], list[AttemptOutcome]]:
    """Return the outcomes by task and model; by task alone if there are no models to tell apart."""
    groups: dict[tuple[str, str], list[AttemptOutcome]] = {}
    for outcome in outcomes:
        if not models or outcome.model in models:
            groups.setdefault((outcome.task, outcome.model if models else ""), []).append(outcome)
    return groups


def _numbers(outcomes: Sequence[AttemptOutcome], is_checked: bool) -> TaskNumbers:
    return TaskNumbers(
        attempts=len(outcomes),
        rate=mean_of(outcome.state == "solved" for outcome in outcomes) if is_checked else None,
        cost=mean_of(outcome.cost for outcome in outcomes) or 0.0,
        unpriced=sum(outcome.unpriced for outcome in outcomes),
        steps=median_of(outcome.steps for outcome in outcomes) or 0.0,
    )


def _differences(changes: Iterable[TaskChange]) -> dict[str, float]:
    """Return by how much the rate of each task with a check has risen, summed over models."""
    differences: dict[str, float] = {}
    for change in changes:
        if change.now.rate is not None:
            differences[change.task] = differences.get(change.task, 0.0) + change.difference
    # A sum of thirds that cancel each other may differ from 0 in its last digits.
    return {task: round(value, 9) for task, value in differences.items()}


def _sums(
    name: str, numbers: Sequence[TaskNumbers], own: Iterable[AttemptOutcome], other: Iterable[AttemptOutcome]
) -> RunNumbers:
    """Return the sums of one run; `own` are its outcomes, and `other` those of the other run."""
    return RunNumbers(
        name=name,
        rate=mean_of(each.rate for each in numbers if each.rate is not None),
        cost=sum(each.cost for each in numbers),
        unpriced=sum(each.unpriced for each in numbers),
        steps=sum(each.steps for each in numbers),
        own_models=sorted({outcome.model for outcome in own} - {outcome.model for outcome in other}),
        own_tasks=sorted({outcome.task for outcome in own} - {outcome.task for outcome in other}),
    )
