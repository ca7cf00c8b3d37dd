"""The changes list: files that differ from their state at the start of the session or of this turn.

Files that others changed, alone or together with the agent, are listed separately, below the agent's own.
"""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message

from workbench.tui.messages import FileChosen
from workbench.tui.widgets.line_list import FittingList
from workbench.view.formatting.actions import REMOVED_CELLS, count_columns, short_path
from workbench.view.formatting.timeline_rows import in_groups
from workbench.view.state import Changed, FileState, SessionState
from workbench.view.wrapping import Line, Piece, clip, spread

_EMPTY = "No changes yet"
_EMPTY_TURN = "No changes this turn · . for the whole session"


class ChangesPanel(FittingList):
    """One row for each file: M, A or D, path, lines added and removed; enter opens its diff."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("full_stop", "scope", "Session or turn", id="changes.scope")]

    class ScopeChanged(Message):
        """Posted to toggle between this turn's changes and the whole session's."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._rows: list[FileState | str] = []
        """The files, and above each group of them a line that says who changed them."""
        self._workspace = ""
        self._removed_cells = REMOVED_CELLS
        self._only_turn = False

    def show(self, state: SessionState, changed: Changed | None) -> None:
        """Show the files again if one changed."""
        if changed is not None and not changed.changes:
            return
        self._only_turn = state.only_turn
        self._rows = in_groups(list(_files(state).values()))
        self._workspace = state.workspace
        removed = [row.removed for row in self._rows if not isinstance(row, str)]
        self._removed_cells = max(REMOVED_CELLS, len(f"−{max(removed, default=0)}"))
        self.set_count(max(1, len(self._rows)))
        self.forget()

    @staticmethod
    def title_counts(state: SessionState) -> Line:
        """Return the counts of the heading: `+3 −1`, after "this turn" if only that is shown."""
        files = _files(state).values()
        counts = changed_lines(sum(file.added for file in files), sum(file.removed for file in files))
        if state.only_turn:
            return [Piece("this turn ", "dim"), *counts]
        return counts

    def line(self, index: int, width: int) -> Line:
        """Return the row of a file."""
        if index >= len(self._rows):
            return [Piece(_EMPTY_TURN if self._only_turn else _EMPTY, "dim")]
        row = self._rows[index]
        if isinstance(row, str):
            return [Piece(clip(row, width), "dim")]
        return file_line(row, self._workspace, width, self._removed_cells)

    def choose(self, index: int) -> None:
        """Open the diff of a file."""
        row = self._rows[index] if index < len(self._rows) else ""
        if not isinstance(row, str):
            self.post_message(FileChosen(row.path))

    def action_scope(self) -> None:
        """Ask to toggle between this turn's changes and the whole session's."""
        self.post_message(self.ScopeChanged())


def _files(state: SessionState) -> dict[str, FileState]:
    return state.turn_changes if state.only_turn else state.changes


def file_line(file: FileState, workspace: str, width: int, removed_cells: int = REMOVED_CELLS) -> Line:
    """Return sign, path and counts of one file; the count of removed lines fills `removed_cells`."""
    sign, style = _sign(file)
    start = [Piece(f"{sign} ", style), Piece(short_path(file.path, workspace))]
    return spread(start, [*changed_lines(file.added, file.removed, removed_cells), Piece(" ")], width)


def changed_lines(added: int, removed: int, removed_cells: int = REMOVED_CELLS) -> Line:
    """Return counts of lines like `+3 −1` in their colors, aligned over several rows; zero is shown as spaces."""
    if not added and not removed:
        return []
    return count_columns(f"+{added}" if added else "", f"−{removed}" if removed else "", removed_cells)


def _sign(file: FileState) -> tuple[str, str]:
    if file.before is None:
        return "A", "ok"
    return ("D", "failed") if file.after is None else ("M", "waiting")
