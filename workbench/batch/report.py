"""What the outcomes of a run come to: by model, by ending, by task, and models compared with each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations, groupby
from typing import Final

import msgspec

from workbench.batch.attempt import AttemptOutcome, Ending, planned
from workbench.batch.run_directory import RunOptions
from workbench.batch.statistics import mean_of, median_of, sign_test, wilson
from workbench.batch.task import TaskSpec

_NEVER_RAN: Final[frozenset[Ending]] = frozenset({"workspace", "setup", "worker"})
_MOST_DETAILS: Final = 3


class TaskScore(msgspec.Struct, frozen=True):
    """How often the attempts of one model solved a task that has a check."""

    task: str
    model: str
    solved: int
    attempts: int

    @property
    def rate(self) -> float:
        """The share of the attempts that solved it."""
        return self.solved / self.attempts

    @property
    def is_flaky(self) -> bool:
        """Whether some attempts solved it, but not all."""
        return 0 < self.solved < self.attempts


class ModelSummary(msgspec.Struct, frozen=True):
    """The attempts of one model. Medians are over attempts that ran; rates are None if no task has a check."""

    model: str
    ran: int
    """Attempts in which the agent ran to an end; only these are in rates and medians."""
    never_ran: int
    """Attempts that ended before the agent, or with their worker."""
    interrupted: int
    tasks: int
    """Tasks with a check that were tried: the n of the interval."""
    checked: int
    """Attempts at these tasks."""
    solved: int
    """Those of them that solved their task."""
    unchecked: int
    """Attempts at tasks without a check."""
    done: int
    """Those of them whose agent finished."""
    rate: float | None
    """The mean, over tasks, of the share of attempts that solved the task."""
    low: float | None
    high: float | None
    cost: float
    """In US dollars, of all attempts, without calls whose price is unknown."""
    unpriced: int
    """Calls whose price is unknown."""
    cost_per_attempt: float | None
    cost_per_solved: float | None
    """The cost of all attempts at tasks with a check, divided by those that solved their task."""
    steps: float | None
    seconds: float | None
    input: int
    """Input tokens, including cached ones."""
    cached: int
    output: int


class EndingSummary(msgspec.Struct, frozen=True):
    """How many attempts of a model ended in one way, how many of them solved their task, and why most of them ended."""

    model: str
    ending: Ending
    attempts: int
    solved: int
    details: Sequence[tuple[str, int]]
    """The most frequent details, each with its number of attempts."""


class PairComparison(msgspec.Struct, frozen=True):
    """Two models on the tasks with a check that both tried, and the two-sided sign test of the difference."""

    first: str
    second: str
    tasks: int
    first_better: int
    second_better: int
    first_rate: float
    second_rate: float
    p: float


class BatchReport(msgspec.Struct, frozen=True):
    """All numbers of a report, without formatting."""

    name: str
    version: str
    tasks: int
    planned: int
    """Attempts of the run, whether or not they have ended."""
    ended: int
    models: Sequence[ModelSummary]
    states: Mapping[str, Mapping[str, int]]
    """By model: how many attempts are solved, unsolved, done, or in another state."""
    endings: Sequence[EndingSummary]
    scores: Sequence[TaskScore]
    """By task and model."""
    flaky: Sequence[TaskScore]
    solved_by_none: Sequence[str]
    """Tasks with a check that no attempt of any model solved."""
    solved_by_all: Sequence[str]
    """Those that every attempt of every model solved."""
    pairs: Sequence[PairComparison]


def report_of(
    name: str, options: RunOptions, tasks: Sequence[TaskSpec], outcomes: Sequence[AttemptOutcome]
) -> BatchReport:
    """Return the report on a run; `outcomes` may lack attempts that have not ended yet."""
    checked = {task.id for task in tasks if task.check}
    names = _models(options, outcomes)
    scores = scores_of(outcomes, checked)
    by_task = {task: list(group) for task, group in groupby(scores, key=lambda score: score.task)}
    attempts = {attempt.names for attempt in planned(tasks, options.models, options.attempts)}
    return BatchReport(
        name,
        options.version,
        len(tasks),
        len(attempts.union(outcome.names for outcome in outcomes)),
        sum(outcome.ending != "interrupted" for outcome in outcomes),
        [_summary(model, outcomes, scores, checked) for model in names],
        {model: Counter(outcome.state for outcome in outcomes if outcome.model == model) for model in names},
        [ending for model in names for ending in _endings(model, outcomes)],
        scores,
        [score for score in scores if score.is_flaky],
        [task for task, group in by_task.items() if not any(score.solved for score in group)],
        [task for task, group in by_task.items() if all(score.solved == score.attempts for score in group)],
        [pair for first, second in combinations(names, 2) if (pair := _compared(first, second, scores)) is not None],
    )


def ran(outcome: AttemptOutcome) -> bool:
    """Return whether the agent of an attempt ran to an end, so that the attempt says something about its model."""
    return outcome.ending not in _NEVER_RAN and outcome.ending != "interrupted"


def scores_of(outcomes: Iterable[AttemptOutcome], checked: Collection[str]) -> list[TaskScore]:
    """Return how often each model solved each of the tasks in `checked`, ordered by task and model."""
    attempts: Counter[tuple[str, str]] = Counter()
    solved: Counter[tuple[str, str]] = Counter()
    for outcome in outcomes:
        if ran(outcome) and outcome.task in checked:
            attempts[outcome.task, outcome.model] += 1
            solved[outcome.task, outcome.model] += outcome.state == "solved"
    return [TaskScore(*key, solved[key], attempts[key]) for key in sorted(attempts)]


def _models(options: RunOptions, outcomes: Iterable[AttemptOutcome]) -> list[str]:
    """Return the models that were tried, in the order of the command line, then those that only tasks name."""
    tried = {outcome.model for outcome in outcomes}
    return [*(model for model in dict.fromkeys(options.models) if model in tried), *sorted(tried - {*options.models})]


def _summary(
    model: str, outcomes: Iterable[AttemptOutcome], scores: Iterable[TaskScore], checked: Collection[str]
) -> ModelSummary:
    every = [outcome for outcome in outcomes if outcome.model == model]
    counted = [outcome for outcome in every if ran(outcome)]
    with_check = [outcome for outcome in counted if outcome.task in checked]
    rates = [score.rate for score in scores if score.model == model]
    rate = mean_of(rates)
    low, high = (None, None) if rate is None else wilson(rate, len(rates))
    solved = sum(outcome.state == "solved" for outcome in with_check)
    return ModelSummary(
        model,
        ran=len(counted),
        never_ran=sum(outcome.ending in _NEVER_RAN for outcome in every),
        interrupted=sum(outcome.ending == "interrupted" for outcome in every),
        tasks=len(rates),
        checked=len(with_check),
        solved=solved,
        unchecked=len(counted) - len(with_check),
        done=sum(outcome.state == "done" for outcome in counted if outcome.task not in checked),
        rate=rate,
        low=low,
        high=high,
        cost=sum(outcome.cost for outcome in every),
        unpriced=sum(outcome.unpriced for outcome in every),
        cost_per_attempt=mean_of(outcome.cost for outcome in counted),
        cost_per_solved=sum(outcome.cost for outcome in with_check) / solved if solved else None,
        steps=median_of(outcome.steps for outcome in counted),
        seconds=median_of(outcome.seconds for outcome in counted),
        input=sum(outcome.input for outcome in every),
        cached=sum(outcome.cached for outcome in every),
        output=sum(outcome.output for outcome in every),
    )


def _endings(model: str, outcomes: Iterable[AttemptOutcome]) -> list[EndingSummary]:
    """Return how the attempts of a model ended, the most frequent ending first."""
    own = [outcome for outcome in outcomes if outcome.model == model]
    counts = Counter(outcome.ending for outcome in own)
    return [
        EndingSummary(
            model,
            ending,
            count,
            sum(outcome.state == "solved" for outcome in own if outcome.ending == ending),
            Counter(outcome.detail for outcome in own if outcome.ending == ending and outcome.detail).most_common(
                _MOST_DETAILS
            ),
        )
        for ending, count in counts.most_common()
    ]


def _compared(first: str, second: str, scores: Iterable[TaskScore]) -> PairComparison | None:
    """Return the comparison of two models; None if there is no task that both tried."""
    rates = {(score.model, score.task): score.rate for score in scores}
    pairs = [
        (rate, rates[second, task])
        for (model, task), rate in rates.items()
        if model == first and (second, task) in rates
    ]
    if not pairs:
        return None
    first_better, second_better = sum(a > b for a, b in pairs), sum(a < b for a, b in pairs)
    return PairComparison(
        first,
        second,
        len(pairs),
        first_better,
        second_better,
        sum(a for a, _ in pairs) / len(pairs),
        sum(b for _, b in pairs) / len(pairs),
        sign_test(first_better, second_better),
    )
