"""The rows of the Settings screen: group, title, current value and its origin."""

from __future__ import annotations

from collections.abc import Sequence

from textual.message import Message

from workbench.tui.settings.entries import SettingRow, setting_row
from workbench.tui.widgets.line_list import LineList
from workbench.view.wrapping import Line, Piece


class SettingList(LineList):
    """Shows rows; enter or a click chooses one."""

    class Chosen(Message):
        """Posted to change the setting of a row."""

        def __init__(self, row: SettingRow) -> None:
            super().__init__()
            self.row = row

    class Moved(Message):
        """Posted when the cursor has moved to another row."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._rows: Sequence[SettingRow] = ()
        self._empty = "…"

    @property
    def current(self) -> SettingRow | None:
        """The row under the cursor."""
        return self._rows[self.cursor] if self.cursor < len(self._rows) else None

    def show(self, rows: Sequence[SettingRow]) -> None:
        """Replace the rows, keeping the cursor on its setting if it is among them."""
        before = self.current
        self._rows, self._empty = rows, "No match"
        self.set_count(len(rows) or 1)
        paths = [row.entry.path for row in rows]
        self.move_to(paths.index(before.entry.path) if before and before.entry.path in paths else 0)
        self.forget()
        self.post_message(self.Moved())

    def line(self, index: int, width: int) -> Line:
        """Return one row; the first row of a group names the group."""
        if not self._rows:
            return [Piece(self._empty, "dim")]
        is_first = index == 0 or self._rows[index - 1].entry.group != self._rows[index].entry.group
        return setting_row(self._rows[index], width, with_group=is_first)

    def choose(self, index: int) -> None:
        """Change the setting under the cursor."""
        if index < len(self._rows):
            self.post_message(self.Chosen(self._rows[index]))

    def watch_cursor(self, before: int, after: int) -> None:
        """Report the move, so that the screen describes the row."""
        super().watch_cursor(before, after)
        self.post_message(self.Moved())
