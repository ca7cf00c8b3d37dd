"""Writes the numbers of a report as a document for readers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from workbench.batch.document import (
    Chart,
    GridChart,
    IntervalBar,
    IntervalChart,
    ReportDocument,
    ReportSection,
    ScatterChart,
    ShareChart,
    TableColumn,
)
from workbench.batch.figures import amount, duration, interval, money, percent, probability
from workbench.batch.report import BatchReport, ModelSummary
from workbench.text import counted

_NAME = TableColumn("Model", "name")
_TASK = TableColumn("Task", "name")
_RATE_NOTES = (
    "Solved is the mean over n tasks of the share of a task's attempts that its check passed; the 95% interval is "
    "Wilson's for n tasks.",
    "Attempts that got stuck, failed or were stopped at a limit count as not solved unless the check of a stopped one "
    "passed.",
)
_DONE_NOTE = "Without a check nothing shows that a task is solved: these attempts are done, and in no rate."
_STATES = ("solved", "unsolved", "done")
_FEWEST_POINTS = 2


def document_of(report: BatchReport) -> ReportDocument:
    """Return a report on a run as a document."""
    summary = [
        f"{counted(report.tasks, 'task')}, {counted(len(report.models), 'model')}, "
        f"{report.ended:,} of {counted(report.planned, 'attempt')} ended; ohw {report.version}."
    ]
    if not report.models:
        return ReportDocument(f"Batch {report.name}", [*summary, "No attempt has ended yet."], [])
    return ReportDocument(f"Batch {report.name}", summary, list(_sections(report)))


def _sections(report: BatchReport) -> Iterator[ReportSection]:
    models = report.models
    rated = [each for each in models if each.rate is not None]
    if rated:
        yield _solved(rated, _uncounted(models))
    if any(each.unchecked for each in models):
        yield _done(models, () if rated else _uncounted(models))
    yield _costs(models, has_rates=bool(rated))
    yield _endings(report)
    if report.pairs:
        yield _pairs(report)
    if report.scores:
        yield from _tasks(report)


def _uncounted(models: Sequence[ModelSummary]) -> list[str]:
    """Return a note about attempts that are in no rate, if there are any."""
    never_ran, interrupted = sum(each.never_ran for each in models), sum(each.interrupted for each in models)
    notes = []
    if never_ran:
        notes.append(
            f"Not counted: {counted(never_ran, 'attempt')} without a result of the agent, because the workspace, the "
            "setup or the worker failed."
        )
    if interrupted:
        notes.append(f"Not counted: {counted(interrupted, 'interrupted attempt')}.")
    return notes


def _solved(models: Sequence[ModelSummary], notes: Sequence[str]) -> ReportSection:
    columns = [_NAME, *map(TableColumn, ("Solved", "95% interval", "Tasks (n)", "Attempts solved"))]
    rows = [
        (
            each.model,
            percent(each.rate),
            interval(each.low, each.high),
            f"{each.tasks:,}",
            f"{each.solved:,} of {each.checked:,}",
        )
        for each in models
    ]
    bars = [IntervalBar(each.model, each.rate or 0.0, each.low or 0.0, each.high or 0.0) for each in models]
    return ReportSection("Solved by model", columns, rows, [*_RATE_NOTES, *notes], IntervalChart(bars))


def _done(models: Sequence[ModelSummary], notes: Sequence[str]) -> ReportSection:
    columns = [_NAME, TableColumn("Attempts done")]
    rows = [(each.model, f"{each.done:,} of {each.unchecked:,}") for each in models if each.unchecked]
    return ReportSection("Tasks without a check", columns, rows, [_DONE_NOTE, *notes])


def _costs(models: Sequence[ModelSummary], *, has_rates: bool) -> ReportSection:
    titles = ("Cost", "Per solved", "Steps", "Time", "Input", "Cached", "Output")
    rows = [
        (
            each.model,
            money(each.cost, each.unpriced),
            money(each.cost_per_solved, each.unpriced),
            amount(each.steps),
            duration(each.seconds),
            amount(each.input),
            amount(each.cached),
            amount(each.output),
        )
        for each in models
    ]
    notes = ["Steps and the time of the agent are medians of attempts; cost and tokens are sums of all."]
    if has_rates:
        notes.append(
            "Per solved is the cost of all attempts at tasks with a check, divided by the attempts that solved theirs."
        )
    if unpriced := sum(each.unpriced for each in models):
        notes.append(f"The price of {counted(unpriced, 'model call')} is unknown, and not included.")
    return ReportSection("Cost and effort by model", [_NAME, *map(TableColumn, titles)], rows, notes, _scatter(models))


def _scatter(models: Sequence[ModelSummary]) -> Chart | None:
    points = [
        (each.model, each.cost_per_attempt, each.rate)
        for each in models
        if each.rate is not None and each.cost_per_attempt is not None and not each.unpriced
    ]
    if len(points) < _FEWEST_POINTS:
        return None
    return ScatterChart(points, "Mean cost of an attempt", "Solved")


def _endings(report: BatchReport) -> ReportSection:
    ran = {each.model: each.ran + each.never_ran + each.interrupted for each in report.models}
    columns = [_NAME, TableColumn("Ending", "text"), TableColumn("Attempts"), TableColumn("Share")]
    rows = [
        [
            each.model,
            each.ending,
            f"{each.attempts:,}",
            percent(each.attempts / ran[each.model]),
            f"{each.solved:,}",
            "; ".join(f"{detail} (×{count:,})" for detail, count in each.details),
        ]
        for each in report.endings
    ]
    columns += [TableColumn("Solved"), TableColumn("Most frequent details", "name")]
    return ReportSection("Where attempts end", columns, rows, chart=_shares(report))


def _shares(report: BatchReport) -> ShareChart:
    """Return the states of each model's attempts: what the check shows first, then the most frequent ones of all."""
    total: Counter[str] = Counter()
    for states in report.states.values():
        total.update(states)
    order = [*_STATES, *(state for state, _ in total.most_common() if state not in _STATES)]
    return ShareChart(
        [
            (model, [(state, states[state]) for state in order if state in states])
            for model, states in report.states.items()
        ]
    )


def _pairs(report: BatchReport) -> ReportSection:
    columns = [TableColumn("Model A", "name"), TableColumn("Model B", "name"), TableColumn("Tasks")]
    columns += map(TableColumn, ("A", "B", "A > B", "A < B", "p"))
    rows = [
        (
            each.first,
            each.second,
            f"{each.tasks:,}",
            percent(each.first_rate),
            percent(each.second_rate),
            f"{each.first_better:,}",
            f"{each.second_better:,}",
            probability(each.p),
        )
        for each in report.pairs
    ]
    notes = [
        "A and B are what each solved of the tasks that both tried, then how many tasks one solved more often; p is "
        "that of an exact two-sided sign test of these."
    ]
    if len(rows) > 1:
        notes.append(f"It is not corrected for the number of comparisons, {len(rows)}.")
    return ReportSection("Models compared", columns, rows, notes)


def _tasks(report: BatchReport) -> Iterator[ReportSection]:
    """Yield the sections about single tasks, of which there is at least one with a check."""
    tasks = {score.task: None for score in report.scores}
    models = list(dict.fromkeys(score.model for score in report.scores))
    rates = {(score.task, score.model): score.rate for score in report.scores}
    flaky = [(each.task, each.model, f"{each.solved} of {each.attempts}") for each in report.flaky]
    notes = [
        f"{counted(len(report.solved_by_all), 'task')} of {len(tasks):,} solved by every attempt, "
        f"{len(report.solved_by_none):,} by none."
    ]
    grid = [(task, [rates.get((task, model)) for model in models]) for task in tasks]
    yield ReportSection("Tasks", notes=notes, chart=GridChart(models, grid))
    if report.solved_by_none:
        yield ReportSection("Hardest tasks: solved by none", [_TASK], [(task,) for task in report.solved_by_none])
    if flaky:
        yield ReportSection(
            "Flaky tasks: solved by some attempts of a model", [_TASK, _NAME, TableColumn("Solved")], flaky
        )
