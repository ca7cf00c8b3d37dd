"""Formats a run for the screen that watches it: its figures, the grid of tasks and models, and lists of attempts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from rich.cells import cell_len

from workbench.batch.attempt_states import GOOD, PENDING, RUNNING, URGENCY, WAITING, state_sign
from workbench.batch.figures import money
from workbench.batch.progress import latest_activity, progress_bar
from workbench.batch.watched_run import AttemptStatus, RunView, TaskRow
from workbench.durations import measured_duration, whole_duration
from workbench.text import counted, visible
from workbench.view.wrapping import Line, Piece, clip, line_width, pad

_STYLES: Final = {
    **{"solved": "ok", "done": "ok", "unsolved": "failed", "question": "risk-medium", "limit": "risk-medium"},
    **{"interrupted": "risk-medium", RUNNING: "running", WAITING: "waiting", PENDING: "dim"},
}
_ORDER: Final = ("solved", "done", WAITING, RUNNING, "unsolved", *URGENCY[2:])
"""The order in which states are counted: first how it goes, then what went wrong."""
_PHASES: Final = {"running": "running", "finished": "ok", "interrupted": "risk-medium"}
_LEAST_NAME: Final = 16
_LEAST_CELL: Final = 14
_MOST_CELL: Final = 34
_MOST_MARKS: Final = 8
_WORD: Final = 11
"""The width of the longest word for a state."""


def state_style(state: str) -> str:
    """Return the name of the style of a state."""
    return _STYLES.get(state, "failed")


def title_line(view: RunView) -> Line:
    """Return the name of the run, and what it does."""
    phase = view.phase
    return [Piece(visible(view.name, lines=False), "bold"), Piece("   "), Piece(phase, _PHASES[phase])]


def figure_lines(view: RunView, width: int) -> list[Line]:
    """Return lines about how many attempts have ended, what they cost and how fast they are, and about their states."""
    parts = [money(view.cost, view.unpriced), *(view.pace.parts if view.pace is not None else [])]
    head = [Piece(f"{view.done:,} of {view.total:,}", "bold"), Piece(f"   {' · '.join(parts)}")]
    bar = Piece(f"{progress_bar(view.done, view.total)}  ", "accent")
    return [_clipped([bar, *head] if line_width([bar, *head]) <= width else head, width), *_state_lines(view, width)]


def _state_lines(view: RunView, width: int) -> list[Line]:
    """Return how many attempts are in each state, on as many lines as that takes."""
    lines: list[Line] = [[]]
    for state in sorted(view.states, key=lambda each: _ORDER.index(each) if each in _ORDER else len(_ORDER)):
        if count := view.states[state]:
            words = "waiting for an answer" if state == WAITING else state
            piece = Piece(f"{state_sign(state)} {count:,} {words}", state_style(state))
            if lines[-1] and line_width([*lines[-1], piece]) + 3 > width:
                lines.append([])
            lines[-1] += [*([Piece("   ")] if lines[-1] else []), piece]
    return [_clipped(line, width) for line in lines]


def _clipped(line: Line, width: int) -> Line:
    """Return a line of at most `width` cells."""
    fitted: Line = []
    for piece in line:
        available = width - line_width(fitted)
        fitted.append(Piece(clip(piece.text, available), piece.style))
    return fitted


class GridLayout(Struct, frozen=True):
    """The widths of the grid in cells: of the column with the tasks, and of each model in sight."""

    name: int
    cell: int
    first: int
    """The first model in sight."""
    count: int
    """How many models are in sight."""
    total: int

    @property
    def models(self) -> range:
        """The models in sight."""
        return range(self.first, self.first + self.count)


class GridContent(Struct, frozen=True):
    """The widest that a grid has to show: names of tasks and models in cells, and attempts in one of its cells."""

    name: int = 0
    model: int = 0
    attempts: int = 1


def grid_content(rows: Sequence[TaskRow], models: Sequence[str]) -> GridContent:
    """Measure rows; of many, this takes some milliseconds."""
    return GridContent(
        max((len(row.task.id) for row in rows), default=0),
        max(map(cell_len, models), default=0),
        max((len(cell) for row in rows for cell in row.cells.values()), default=1),
    )


def grid_layout(width: int, content: GridContent, models: int, current: int, first: int) -> GridLayout:
    """Fit the grid to a width; the model `current` is in sight, and the first one is `first` if that is possible."""
    name = max(_LEAST_NAME, min(content.name, width // 3)) + 1
    available = max(_LEAST_CELL, width - name - 2)  # with the signs for models out of sight
    count = max(1, min(models, available // _LEAST_CELL))
    first = max(0, min(first, models - count))
    first = min(max(first, current - count + 1), current)
    figures = _MOST_CELL if content.attempts == 1 else min(_MOST_MARKS, content.attempts) + 19
    cell = max(figures, min(_MOST_CELL, content.model + 3))
    return GridLayout(name, min(cell, available // count), first, count, models)


def header_line(models: Sequence[str], layout: GridLayout) -> Line:
    """Return the names of the models above their columns; signs say that there are more on either side."""
    before, after = layout.first > 0, layout.first + layout.count < layout.total
    line = [Piece(" "), Piece(pad("Task", layout.name), "title")]
    for index in layout.models:
        line.append(Piece(pad(f" {_model_name(models[index], layout.cell - 2)}", layout.cell), "title"))
    line[1] = Piece(pad(f"Task{' ‹' if before else ''}", layout.name), "title")
    return [*line, Piece("›", "title")] if after else line


def _model_name(model: str, width: int) -> str:
    name = visible(model, lines=False)
    return name if len(name) <= width else clip(name.rpartition("/")[2], width)


def grid_line(row: TaskRow, models: Sequence[str], layout: GridLayout, current: int | None, now: float) -> Line:
    """Return the line of a task; the cell of the model `current` is in brackets, if there are several models."""
    line = [Piece(pad(visible(row.task.id, lines=False), layout.name))]
    for index in layout.models:
        pieces = _cell(row.cells.get(models[index], ()), layout.cell - 2, now)
        ends = "[]" if index == current and layout.total > 1 else "  "
        space = layout.cell - 2 - line_width(pieces)
        line += [Piece(ends[0], "accent"), *pieces, Piece(" " * max(0, space)), Piece(ends[1], "accent")]
    return line


def _cell(statuses: Sequence[AttemptStatus], width: int, now: float) -> Line:
    if not statuses:
        return []
    cost = sum(status.cost for status in statuses)
    if len(statuses) == 1:
        state, time = statuses[0].state, _time(statuses[0], now)
        pieces = [Piece(f"{state_sign(state)} {pad(state, _WORD)}", state_style(state))]
        figures = [(money(cost) if cost else "", 9), (time, 8)]
        return _with_figures(pieces, figures, width)
    if len(statuses) <= min(_MOST_MARKS, width):
        pieces = [Piece(state_sign(status.state), state_style(status.state)) for status in statuses]
        good = sum(status.state in GOOD for status in statuses)
        figures = [(f"{good}/{len(statuses)}", 5), (money(cost) if cost else "", 10)]
        return _with_figures(pieces, figures, width)
    counts = Counter((state_sign(status.state), state_style(status.state)) for status in statuses)
    pieces = [Piece(f"{count}{sign} ", style) for (sign, style), count in counts.most_common()]
    return _clipped(pieces, width)


def _time(status: AttemptStatus, now: float) -> str:
    """Return how long an attempt took, or has been running; empty if it has not started."""
    seconds = status.seconds(now)
    if not seconds:
        return ""
    return whole_duration(seconds) if status.outcome is None else measured_duration(seconds)


def _with_figures(pieces: Line, figures: Sequence[tuple[str, int]], width: int) -> Line:
    """Return a cell with as many of its figures as fit; each has its width."""
    for figure, size in figures:
        if line_width(pieces) + size <= width:
            pieces = [*pieces, Piece(pad(figure, size, right=True), "dim")]
    return pieces


def _detail(status: AttemptStatus, now: float) -> str:
    """Return why an attempt ended as it did; of a running one what it asks, or what it did last."""
    if status.outcome is not None:
        return status.outcome.detail
    return status.question or (latest_activity(status.progress, now) if status.progress is not None else "")


def cell_line(statuses: Sequence[AttemptStatus], now: float) -> Line:
    """Return what is wrong with the attempts of a cell, what they ask or did last, after their task and model."""
    if not statuses:
        return []
    attempt = statuses[0].attempt
    line = [Piece(visible(f"{attempt.task.id} · {attempt.model}", lines=False), "bold")]
    for status in statuses:
        if reason := _detail(status, now):
            number = f"#{status.attempt.number} " if len(statuses) > 1 else ""
            line += [Piece(f"   {number}", "dim"), Piece(visible(reason, lines=False), state_style(status.state))]
    return line


def attempt_line(status: AttemptStatus, width: int, now: float) -> Line:
    """Return the line of an attempt in the list of one cell."""
    spent, state = status.spent, status.state
    line = [
        Piece(f"#{status.attempt.number:<3}"),
        Piece(f"{state_sign(state)} {pad(state, _WORD)}", state_style(state)),
        Piece(pad(counted(spent.steps, "step") if spent is not None else "", 10, right=True), "dim"),
        Piece(pad(money(spent.cost, spent.unpriced) if spent is not None else "", 11, right=True), "dim"),
        Piece(pad(_time(status, now), 9, right=True), "dim"),
    ]
    detail = _detail(status, now)
    return _clipped([*line, Piece(f"   {visible(detail, lines=False)}")], width)
