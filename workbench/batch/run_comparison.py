"""Compares two runs: what the later one solves that the earlier one did not, and the reverse; and cost and steps."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import msgspec

from workbench.batch.attempt import AttemptOutcome
from workbench.batch.report import ran
from workbench.batch.statistics import mean_of, median_of, sign_test


class TaskChange(msgspec.Struct, frozen=True):
    """A task in both runs. Rates are None if it has no check in one of them."""

    task: str
    model: str
    """Empty if the runs have no model in common: then all models are in the numbers."""
    attempts_before: int
    attempts_now: int
    rate_before: float | None
    rate_now: float | None
    cost_before: float
    """The mean cost of an attempt in US dollars, without calls whose price is unknown."""
    cost_now: float
    unpriced_before: int
    unpriced_now: int
    steps_before: float
    """The median of the attempts."""
    steps_now: float

    @property
    def difference(self) -> float:
        """How much the rate has risen; 0 for a task without a check."""
        return (self.rate_now or 0.0) - (self.rate_before or 0.0)


class RunComparison(msgspec.Struct, frozen=True):
    """All numbers of a comparison. Costs are of one attempt at each task, with each model that is compared."""

    before: str
    now: str
    models: Sequence[str]
    """The models that both runs tried, which are compared one by one."""
    models_before: Sequence[str]
    """Models that only the earlier run tried."""
    models_now: Sequence[str]
    tasks: int
    """Tasks that are compared."""
    checked: int
    """Those that have a check."""
    better: int
    """Tasks that are solved more often, over all models that are compared."""
    worse: int
    p: float
    """The two-sided sign test over tasks."""
    rate_before: float | None
    """The mean over tasks."""
    rate_now: float | None
    cost_before: float
    cost_now: float
    unpriced_before: int
    unpriced_now: int
    steps_before: float
    """The sum of the medians of the tasks."""
    steps_now: float
    changes: Sequence[TaskChange]
    tasks_before: Sequence[str]
    """Tasks that only the earlier run tried."""
    tasks_now: Sequence[str]


class ComparedRun(msgspec.Struct, frozen=True):
    """One of the two runs."""

    name: str
    outcomes: Sequence[AttemptOutcome]
    checked: Collection[str]
    """The IDs of the tasks that have a check."""


def compare_runs(before: ComparedRun, now: ComparedRun) -> RunComparison:
    """Compare the attempts in which the agent ran: by task and model, or by task if no model is in both runs."""
    earlier, later = ([outcome for outcome in run.outcomes if ran(outcome)] for run in (before, now))
    models_before, models_now = ({outcome.model for outcome in outcomes} for outcomes in (earlier, later))
    common = models_before & models_now
    first, second = (_grouped(outcomes, common) for outcomes in (earlier, later))
    checked = {*before.checked} & {*now.checked}
    changes = [_change(key, first[key], second[key], key[0] in checked) for key in sorted(first.keys() & second.keys())]
    tasks_before, tasks_now = ({outcome.task for outcome in outcomes} for outcomes in (earlier, later))
    differences = _differences(changes)
    better, worse = (sum(value * sign > 0 for value in differences.values()) for sign in (1, -1))
    return RunComparison(
        before=before.name,
        now=now.name,
        models=sorted(common),
        models_before=sorted(models_before - common),
        models_now=sorted(models_now - common),
        tasks=len({change.task for change in changes}),
        checked=len(differences),
        better=better,
        worse=worse,
        p=sign_test(better, worse),
        changes=changes,
        tasks_before=sorted(tasks_before - tasks_now),
        tasks_now=sorted(tasks_now - tasks_before),
        **_sums(changes),
    )


def _grouped(
    outcomes: Iterable[AttemptOutcome], models: Collection[str]
) -> dict[tuple[str, str], list[AttemptOutcome]]:
    """Return the outcomes by task and model; by task alone if there are no models to tell apart."""
    groups: dict[tuple[str, str], list[AttemptOutcome]] = {}
    for outcome in outcomes:
        if not models or outcome.model in models:
            groups.setdefault((outcome.task, outcome.model if models else ""), []).append(outcome)
    return groups


def _change(
    key: tuple[str, str], before: Sequence[AttemptOutcome], now: Sequence[AttemptOutcome], is_checked: bool
) -> TaskChange:
    def rate(outcomes: Sequence[AttemptOutcome]) -> float | None:
        return mean_of(outcome.state == "solved" for outcome in outcomes) if is_checked else None

    return TaskChange(
        *key,
        attempts_before=len(before),
        attempts_now=len(now),
        rate_before=rate(before),
        rate_now=rate(now),
        cost_before=mean_of(outcome.cost for outcome in before) or 0.0,
        cost_now=mean_of(outcome.cost for outcome in now) or 0.0,
        unpriced_before=sum(outcome.unpriced for outcome in before),
        unpriced_now=sum(outcome.unpriced for outcome in now),
        steps_before=median_of(outcome.steps for outcome in before) or 0.0,
        steps_now=median_of(outcome.steps for outcome in now) or 0.0,
    )


def _differences(changes: Iterable[TaskChange]) -> dict[str, float]:
    """Return by how much the rate of each task with a check has risen, summed over models."""
    differences: dict[str, float] = {}
    for change in changes:
        if change.rate_now is not None:
            differences[change.task] = differences.get(change.task, 0.0) + change.difference
    # A sum of thirds that cancel each other may differ from 0 in its last digits.
    return {task: round(value, 9) for task, value in differences.items()}


def _sums(changes: Sequence[TaskChange]) -> dict[str, Any]:
    sums = {
        f"{name}_{when}": sum(getattr(change, f"{name}_{when}") for change in changes)
        for name in ("cost", "unpriced", "steps")
        for when in ("before", "now")
    }
    for when in ("before", "now"):
        sums[f"rate_{when}"] = mean_of(
            rate for change in changes if (rate := getattr(change, f"rate_{when}")) is not None
        )
    return sums
