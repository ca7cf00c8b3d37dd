"""The rows of the Sessions screen; costs the same for ten and for ten thousand of them."""

from __future__ import annotations

from collections.abc import Sequence

from textual.message import Message

from workbench.tui import clock
from workbench.tui.widgets.line_list import LineList
from workbench.tui.wording.pieces import Line, Piece
from workbench.tui.wording.session_rows import SessionRow, session_row


class SessionList(LineList):
    """Shows rows; enter or a click chooses one."""

    class Chosen(Message):
        """Open this one."""

        def __init__(self, row: SessionRow) -> None:
            super().__init__()
            self.row = row

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._rows: Sequence[SessionRow] = ()
        self._empty = ""

    @property
    def current(self) -> SessionRow | None:
        """The row under the cursor."""
        return self._rows[self.cursor] if self.cursor < len(self._rows) else None

    def show(self, rows: Sequence[SessionRow], empty: str) -> None:
        """Other rows; the cursor stays on what it stood on. `empty` is said where there is none."""
        before = self.current
        self._rows, self._empty = rows, empty
        self.set_count(len(rows) or 1)
        stays = _name(before) if self.cursor else None  # on the first row it stays there, whatever comes
        self.cursor = next((at for at, row in enumerate(rows) if _name(row) == stays), 0) if stays else 0
        self.forget()

    def line(self, index: int, width: int) -> Line:
        """One row."""
        if not self._rows:
            return [Piece(self._empty, "dim")]
        return session_row(self._rows[index], width, clock.now())

    def choose(self, index: int) -> None:
        """Open the one under the cursor."""
        if index < len(self._rows):
            self.post_message(self.Chosen(self._rows[index]))


def _name(row: SessionRow | None) -> tuple[str, int]:
    return (row.entry.id, row.found.seq if row.found else 0) if row else ("", 0)
