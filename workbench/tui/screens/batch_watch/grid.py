"""The grid of a run: a line for each task, a column for each model; only the lines in sight are painted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.reactive import var
from textual.widgets import Static

from workbench.batch.watched_run import AttemptStatus, TaskRow
from workbench.tui.widgets.line_list import LineList
from workbench.tui.widgets.strips import as_content
from workbench.view import clock
from workbench.view.formatting.batch_watch import (
    GridContent,
    GridLayout,
    grid_layout,
    grid_line,
    header_line,
)
from workbench.view.wrapping import Line


class WatchGrid(LineList):
    """Shows the tasks; the cursor is on the cell of one task and model, which Enter or a click opens."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "column(-1)", "Previous model", show=False, id="watch.previous-model"),
        Binding("right,l", "column(1)", "Next model", show=False, id="watch.next-model"),
    ]
    keeps_cursor = True
    column: var[int] = var(0)
    """The model under the cursor."""

    class Opened(Message):
        """Posted to open the attempts of a cell."""

        def __init__(self, statuses: Sequence[AttemptStatus]) -> None:
            super().__init__()
            self.statuses = statuses

    class Moved(Message):
        """Posted when the cursor has moved to another cell."""

    def __init__(self) -> None:
        super().__init__(id="watch-grid")
        self.header = Static(id="watch-header")
        """The names of the models, which belongs above the grid."""
        self._rows: Sequence[TaskRow] = ()
        self._models: Sequence[str] = ()
        self._content = GridContent()
        self._layout_of_cells = GridLayout(0, 0, 0, 0, 0)
        self._now = 0.0

    @property
    def task_id(self) -> str:
        """The ID of the task under the cursor; empty if there is none."""
        return self._rows[self.cursor].task.id if self.cursor < len(self._rows) else ""

    @property
    def model(self) -> str:
        """The model under the cursor; empty if there is none."""
        return self._models[self.column] if self.column < len(self._models) else ""

    @property
    def statuses(self) -> Sequence[AttemptStatus]:
        """The attempts in the cell under the cursor."""
        return self._rows[self.cursor].cells.get(self.model, ()) if self.cursor < len(self._rows) else ()

    def show(
        self, rows: Sequence[TaskRow], models: Sequence[str], content: GridContent, *, task: str, model: str
    ) -> None:
        """Replace the rows, with the cursor on the cell of a task and model if they are among them."""
        self._rows, self._models, self._content, self._now = rows, models, content, clock.now().timestamp()
        self.set_count(len(rows))
        self.column = models.index(model) if model in models else min(self.column, max(0, len(models) - 1))
        at = next((at for at, row in enumerate(rows) if row.task.id == task), -1)
        if at >= 0 and at != self.cursor:
            self.move_to(at)
        self._fit()

    def _fit(self) -> None:
        """Lay the columns out, and repaint everything."""
        first = self._layout_of_cells.first
        width = max(1, self.size.width - 2)  # the cursor's column and the scrollbar
        self._layout_of_cells = grid_layout(width, self._content, len(self._models), self.column, first)
        self.header.update(as_content([header_line(self._models, self._layout_of_cells)]) if self._rows else Content())
        self.forget()

    def on_resize(self) -> None:
        """Fit the columns to the width."""
        self._fit()

    def line(self, index: int, width: int) -> Line:
        """Return the line of a task."""
        current = self.column if index == self.cursor else None
        return grid_line(self._rows[index], self._models, self._layout_of_cells, current, self._now)

    def choose(self, index: int) -> None:
        """Open the attempts of the cell under the cursor."""
        if self.statuses:
            self.post_message(self.Opened(self.statuses))

    def watch_cursor(self, before: int, after: int) -> None:
        """Repaint both lines, and report the move."""
        super().watch_cursor(before, after)
        self.forget(before)
        self.forget(after)
        self.post_message(self.Moved())

    def watch_column(self) -> None:
        """Bring the column into view, and report the move."""
        self._fit()
        self.post_message(self.Moved())

    def action_column(self, by: int) -> None:
        """Move the cursor to another model."""
        self.column = max(0, min(len(self._models) - 1, self.column + by))

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the clicked column; the list itself then opens the line."""
        offset, layout = event.get_content_offset(self), self._layout_of_cells
        if offset is not None and layout.cell and offset.x > layout.name:
            self.column = min(layout.first + (offset.x - layout.name - 1) // layout.cell, layout.models[-1])
