"""Formats a run for the screen that watches it: its figures, the grid of tasks and models, and lists of attempts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from workbench.batch.attempt_states import GOOD, PENDING, RUNNING, URGENCY, WAITING, state_sign
from workbench.batch.figures import duration, money
from workbench.batch.progress import progress_bar
from workbench.batch.watched_run import AttemptStatus, RunView, TaskRow
from workbench.text import counted, visible
from workbench.view.wrapping import Line, Piece, clip, line_width, pad

_STYLES: Final = {
    **{"solved": "ok", "done": "ok", "unsolved": "failed", "question": "risk-medium", "limit": "risk-medium"},
    **{"interrupted": "risk-medium", RUNNING: "running", WAITING: "waiting", PENDING: "dim"},
}
_PHASES: Final = {"running": "running", "finished": "ok", "interrupted": "risk-medium"}
_LEAST_NAME: Final = 16
_LEAST_CELL: Final = 14
_MOST_CELL: Final = 34
_MOST_SIGNS: Final = 8
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
    """Return two lines: how many attempts have ended and how, and what the run costs and how fast it is."""
    states: Line = []
    for state in sorted(view.states, key=lambda each: -URGENCY.index(each) if each in URGENCY else 0):
        if count := view.states[state]:
            words = "waiting for an answer" if state == WAITING else state
            states += [Piece(" · ", "dim")] if states else []
            states.append(Piece(f"{state_sign(state)} {count} {words}", state_style(state)))
    head = [Piece(progress_bar(view.done, view.total), "accent"), Piece(f"  {view.done} of {view.total}   ")]
    if line_width([*head, *states]) > width:
        head = head[1:]
    parts = [money(view.cost, view.unpriced), *(view.pace.parts if view.pace is not None else [])]
    return [_clipped([*head, *states], width), _clipped([Piece(" · ".join(parts))], width)]


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


def grid_layout(width: int, longest: int, models: int, current: int, first: int) -> GridLayout:
    """Fit the grid to a width; `longest` is the width of the longest name of a task.

    The model `current` is in sight, and the first one is `first` if that is possible.
    """
    name = max(_LEAST_NAME, min(longest, width // 3)) + 1
    available = max(_LEAST_CELL, width - name - 2)  # with the signs for models out of sight
    count = max(1, min(models, available // _LEAST_CELL))
    first = max(0, min(first, models - count))
    first = min(max(first, current - count + 1), current)
    return GridLayout(name, min(_MOST_CELL, available // count), first, count, models)


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
        state, seconds = statuses[0].state, statuses[0].seconds(now)
        pieces = [Piece(f"{state_sign(state)} {pad(state, _WORD)}", state_style(state))]
        figures = [(money(cost) if cost else "", 9), (duration(seconds) if seconds else "", 8)]
        return _with_figures(pieces, figures, width)
    if len(statuses) <= min(_MOST_SIGNS, width):
        pieces = [Piece(state_sign(status.state), state_style(status.state)) for status in statuses]
        good = sum(status.state in GOOD for status in statuses)
        figures = [(f"{good}/{len(statuses)}", 5), (money(cost) if cost else "", 10)]
        return _with_figures(pieces, figures, width)
    counts = Counter((state_sign(status.state), state_style(status.state)) for status in statuses)
    pieces = [Piece(f"{count}{sign} ", style) for (sign, style), count in counts.most_common()]
    return _clipped(pieces, width)


def _with_figures(pieces: Line, figures: Sequence[tuple[str, int]], width: int) -> Line:
    """Return a cell with as many of its figures as fit; each has its width."""
    for figure, size in figures:
        if line_width(pieces) + size <= width:
            pieces = [*pieces, Piece(pad(figure, size, right=True), "dim")]
    return pieces


def attempt_line(status: AttemptStatus, width: int, now: float) -> Line:
    """Return the line of an attempt in the list of one cell."""
    outcome, state = status.outcome, status.state
    line = [
        Piece(f"#{status.attempt.number:<3}"),
        Piece(f"{state_sign(state)} {pad(state, _WORD)}", state_style(state)),
        Piece(pad(counted(outcome.steps, "step") if outcome is not None else "", 10, right=True), "dim"),
        Piece(pad(money(outcome.cost, outcome.unpriced) if outcome is not None else "", 11, right=True), "dim"),
        Piece(pad(duration(status.seconds(now)) if state != PENDING else "", 9, right=True), "dim"),
    ]
    detail = outcome.detail if outcome is not None else status.question
    return _clipped([*line, Piece(f"   {visible(detail, lines=False)}")], width)
