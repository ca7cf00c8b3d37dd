"""Writes the numbers of a comparison of two runs as a document for readers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from workbench.batch.document import ReportDocument, ReportSection, TableColumn
from workbench.batch.figures import amount, money, percent, probability
from workbench.batch.run_comparison import RunComparison, TaskChange, TaskNumbers
from workbench.text import counted


def document_of_comparison(comparison: RunComparison) -> ReportDocument:
    """Return a comparison of two runs as a document."""
    summary = [f"{counted(comparison.tasks, 'task')} in both runs."]
    if comparison.checked < comparison.tasks:
        without = counted(comparison.tasks - comparison.checked, "task")
        summary.append(f"{without} without a check in at least one run, so nothing shows whether it got better.")
    if comparison.altered:
        altered = counted(len(comparison.altered), "task")
        summary.append(
            f"{altered} with another prompt, revision, image, setup or check; a difference may come from that."
        )
    if comparison.tasks and not comparison.models:
        summary.append("No model is in both runs: all attempts at a task are compared, with whatever model.")
    title = f"Batch {comparison.before.name} → {comparison.now.name}"
    return ReportDocument(title, summary, list(_sections(comparison)))


def _sections(comparison: RunComparison) -> Iterator[ReportSection]:
    if comparison.tasks:
        yield _sums(comparison)
    for title, sign in (("Better", 1), ("Worse", -1)):
        changes = [change for change in comparison.changes if change.difference * sign > 0]
        if changes:
            yield _changes(title, sorted(changes, key=lambda change: -abs(change.difference)), bool(comparison.models))
    if comparison.altered:
        yield ReportSection("Altered tasks", [TableColumn("Task", "name")], [(name,) for name in comparison.altered])
    for what, field in (("Task", "own_tasks"), ("Model", "own_models")):
        runs = (comparison.before, comparison.now)
        if rows := [(name, run.name) for run in runs for name in getattr(run, field)]:
            columns = [TableColumn(what, "name"), TableColumn("Run", "name")]
            yield ReportSection(f"{what}s in only one run", columns, rows)


def _sums(comparison: RunComparison) -> ReportSection:
    one, before, now = comparison, comparison.before, comparison.now
    columns = [TableColumn("", "text"), TableColumn("Before"), TableColumn("Now")]
    rows = [
        ("Cost", money(before.cost, before.unpriced), money(now.cost, now.unpriced)),
        ("Steps", amount(before.steps), amount(now.steps)),
    ]
    notes = ["Cost and steps are sums over tasks of the mean cost and the median steps of an attempt."]
    if one.checked:
        rows.insert(0, ("Solved", percent(before.rate), percent(now.rate)))
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
            *(f"{cell(change.before)} → {cell(change.now)}" for cell in (_solved, _cost, _steps)),
        ]
        for change in changes
    ]
    return ReportSection(title, columns, rows)


def _solved(numbers: TaskNumbers) -> str:
    return f"{round((numbers.rate or 0.0) * numbers.attempts)}/{numbers.attempts}"


def _cost(numbers: TaskNumbers) -> str:
    return money(numbers.cost, numbers.unpriced)


def _steps(numbers: TaskNumbers) -> str:
    return amount(numbers.steps)
