"""The rows of the Sessions screen, at a cost that does not depend on their number."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.message import Message

from workbench.tui.widgets.line_list import LineList
from workbench.view import clock
from workbench.view.formatting.sessions import SessionRow, session_row
from workbench.view.wrapping import Line, Piece


class SessionList(LineList):
    """Shows rows; enter or a click chooses one."""

    class Chosen(Message):
        """Posted to open the session of a row."""

        def __init__(self, row: SessionRow) -> None:
            super().__init__()
            self.row = row

    class Moved(Message):
        """Posted when the cursor has moved to another row."""

    def __init__(self, is_twin: Callable[[SessionRow], bool], *, id: str | None = None) -> None:
        """`is_twin` returns whether another session has the same title as a row's session."""
        super().__init__(id=id)
        self._is_twin = is_twin
        self._rows: Sequence[SessionRow] = ()
        self._empty = ""

    @property
    def current(self) -> SessionRow | None:
        """The row under the cursor."""
        return self._rows[self.cursor] if self.cursor < len(self._rows) else None

    def show(self, rows: Sequence[SessionRow], empty: str) -> None:
        """Replace the rows, keeping the cursor on its session; `empty` is the text shown if there are none."""
        before = self.current
        self._rows, self._empty = rows, empty
        self.set_count(len(rows) or 1)
        stays = _name(before) if self.cursor else None  # a cursor on the first row stays there, whatever rows arrive
        self.cursor = next((at for at, row in enumerate(rows) if _name(row) == stays), 0) if stays else 0
        self.forget()

    def line(self, index: int, width: int) -> Line:
        """Return one row."""
        if not self._rows:
            return [Piece(self._empty, "dim")]
        row = self._rows[index]
        return session_row(row, width, clock.now(), is_twin=self._is_twin(row))

    def watch_cursor(self, before: int, after: int) -> None:
        """Report the move, so that the screen can describe the row."""
        super().watch_cursor(before, after)
        self.post_message(self.Moved())

    def choose(self, index: int) -> None:
        """Open the session under the cursor."""
        if index < len(self._rows):
            self.post_message(self.Chosen(self._rows[index]))


def _name(row: SessionRow | None) -> tuple[str, int]:
    return (row.entry.id, row.match.seq if row.match else 0) if row else ("", 0)
