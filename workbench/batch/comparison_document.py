"""Writes the numbers of a comparison of two runs as a document for readers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from workbench.batch.document import ReportDocument, ReportSection, TableColumn
from workbench.batch.figures import amount, money, percent, probability
from workbench.batch.run_comparison import RunComparison, TaskChange
from workbench.text import counted


def document_of_comparison(comparison: RunComparison) -> ReportDocument:
    """Return a comparison of two runs as a document."""
    summary = [f"{counted(comparison.tasks, 'task')} in both runs."]
    if comparison.checked < comparison.tasks:
        without = counted(comparison.tasks - comparison.checked, "task")
        summary.append(f"{without} without a check in at least one run, so nothing shows whether it got better.")
    if comparison.tasks and not comparison.models:
        summary.append("No model is in both runs: all attempts at a task are compared, with whatever model.")
    title = f"Batch {comparison.before} → {comparison.now}"
    return ReportDocument(title, summary, list(_sections(comparison)))


def _sections(comparison: RunComparison) -> Iterator[ReportSection]:
    if comparison.tasks:
        yield _sums(comparison)
    for title, sign in (("Better", 1), ("Worse", -1)):
        changes = [change for change in comparison.changes if change.difference * sign > 0]
        if changes:
            yield _changes(title, sorted(changes, key=lambda change: -abs(change.difference)), bool(comparison.models))
    for what, before, now in (
        ("Task", comparison.tasks_before, comparison.tasks_now),
        ("Model", comparison.models_before, comparison.models_now),
    ):
        rows = [*((name, comparison.before) for name in before), *((name, comparison.now) for name in now)]
        if rows:
            columns = [TableColumn(what, "name"), TableColumn("Run", "name")]
            yield ReportSection(f"{what}s in only one run", columns, rows)


def _sums(comparison: RunComparison) -> ReportSection:
    one = comparison
    columns = [TableColumn("", "text"), TableColumn("Before"), TableColumn("Now")]
    rows = [
        ("Cost", money(one.cost_before, one.unpriced_before), money(one.cost_now, one.unpriced_now)),
        ("Steps", amount(one.steps_before), amount(one.steps_now)),
    ]
    notes = ["Cost and steps are sums over tasks of the mean cost and the median steps of an attempt."]
    if one.checked:
        rows.insert(0, ("Solved", percent(one.rate_before), percent(one.rate_now)))
        same = one.checked - one.better - one.worse
        notes = [
            f"{counted(one.better, 'task')} better, {one.worse:,} worse, {same:,} the same; exact two-sided sign test: "
            f"p = {probability(one.p)}.".replace("= <", "<"),
            f"Solved is the mean over {counted(one.checked, 'task')} with a check.",
            *notes,
        ]
    return ReportSection("Both runs", columns, rows, notes)


def _changes(title: str, changes: Sequence[TaskChange], has_models: bool) -> ReportSection:
    model = [TableColumn("Model", "name")] if has_models else []
    columns = [TableColumn("Task", "name"), *model, *map(TableColumn, ("Solved", "Cost", "Steps"))]
    rows = [
        [
            change.task,
            *([change.model] if has_models else []),
            f"{_solved(change.rate_before, change.attempts_before)} → {_solved(change.rate_now, change.attempts_now)}",
            f"{money(change.cost_before, change.unpriced_before)} → {money(change.cost_now, change.unpriced_now)}",
            f"{amount(change.steps_before)} → {amount(change.steps_now)}",
        ]
        for change in changes
    ]
    return ReportSection(title, columns, rows)


def _solved(rate: float | None, attempts: int) -> str:
    return f"{round((rate or 0.0) * attempts)}/{attempts}"
