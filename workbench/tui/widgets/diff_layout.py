"""Lays out the files of a diff view, and locates its hunks and its cursor; independent of widgets."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from workbench.diff.hunks import FileDiff
from workbench.view.diff.document import CONTEXT, DiffDocument, Folds
from workbench.view.diff.geometry import Geometries, Geometry, LayoutOptions
from workbench.view.diff.lines import Marks, line_of
from workbench.view.diff.rows import DiffRow, FoldId, LineId
from workbench.view.diff.search import Match

WIDE = 140
"""Screens with at least this many columns show a diff side by side."""


class DiffLayout:
    """Compared files, their opened folds and comments, and their geometry at a width."""

    def __init__(self, files: Sequence[FileDiff], *, wrapped: bool) -> None:
        self.document = DiffDocument(files)
        self.wrapped = wrapped
        self.beside: bool | None = None
        """Whether old and new are side by side; None lets the width of the screen decide."""
        self.comments: dict[LineId, str] = {}
        self.opened: set[FoldId] = set()
        self.skipped: Collection[int] = ()
        """The hunks shown as one row, counted across all files."""
        self.context = CONTEXT
        self.cursor_file = -1
        """The file under the cursor; -1 if there is no cursor."""
        self.is_numbered = False
        """Whether the hunks are numbered at the left."""
        self._last_layout: LayoutOptions | None = None
        self._geometries = Geometries()

    def is_beside(self, screen_width: int) -> bool:
        """Return whether old and new are side by side on a screen of this width."""
        return self.beside if self.beside is not None else screen_width >= WIDE

    def at(self, width: int, screen_width: int) -> Geometry:
        """Return the geometry of the diff at a width of the view."""
        layout = LayoutOptions(width, self.is_beside(screen_width), self.wrapped, self.is_numbered, self._folds)
        return self._geometries.at(layout, self.document, self.opened, self.comments)

    def is_longer(self, most: int, width: int, screen_width: int) -> bool:
        """Return whether the diff takes over `most` rows at a width; counts unwrapped rows first, which is cheap."""
        rows = self.document.rows(self.opened, beside=self.is_beside(screen_width), folds=self._folds)
        return len(rows) > most or self.at(width, screen_width).height > most

    @property
    def _folds(self) -> Folds:
        return Folds(self.context, frozenset(self.skipped))

    def restart(self, *, rows_changed: bool) -> None:
        """Start a new layout; `rows_changed` says whether the rows differ from those of the last one."""
        self._last_layout = None
        if rows_changed:
            self._geometries.clear()

    def is_new_layout(self, layout: LayoutOptions) -> bool:
        """Return whether the layout differs from the last call's; False for the first call and after `restart`."""
        before, self._last_layout = self._last_layout, layout
        return before not in (None, layout)

    def open_fold(self, row: DiffRow) -> bool:
        """Open the fold in this row; return False if it is not a fold."""
        if row.kind == "fold":
            self.opened.add((row.file, row.old))
        return row.kind == "fold"

    def toggle_folds(self, geometry: Geometry, hunk: int) -> None:
        """Unfold the lines around a hunk (for -1, of the cursor's file or all files); if none is folded, fold again."""
        file = self.cursor_file
        if hunk >= 0:
            file = geometry.rows[geometry.hunk_row(hunk)].file
            folds = geometry.folds_around(hunk)
        else:
            folds = geometry.rows.folds(*geometry.rows_of_file(file) if file >= 0 else ())
        if folds:
            self.opened.update(folds)
        else:
            self.opened = {(number, line) for number, line in self.opened if number != file >= 0}


def next_hunk(geometry: Geometry, current: int, top: int, by: int) -> int:
    """Return the next or previous hunk; if `current` is -1, the first from screen line `top` on, or the one before."""
    if current >= 0:
        target = current + by
    else:
        row = geometry.at(min(top, geometry.height - 1))[0]
        target = geometry.hunk_from(row) - (by < 0)
    return min(max(target, 0), geometry.hunk_count - 1)


def scroll_to_hunk(geometry: Geometry, hunk: int, top: int, height: int) -> int | None:
    """Return the screen line to scroll to for a hunk with some lines before it, or None if it is in view."""
    row = geometry.top_of(geometry.hunk_row(hunk))
    is_cut = geometry.at(min(top, geometry.height - 1))[1] > 0
    if not is_cut and top + 1 <= row < top + height - min(6, height // 2):
        return None
    return geometry.start_from(max(0, row - min(4, height // 4)))


def line_at(geometry: Geometry, index: int) -> LineId | None:
    """Return the line that a row shows, or None for a fold or a title."""
    row = geometry.rows[index] if 0 <= index < len(geometry.rows) else None
    return None if row is None or row.kind in ("file", "fold") else line_of(row.file, row.old, row.new)


def new_line_at(geometry: Geometry, index: int) -> int:
    """Return the number, from 1, of the new line in a row, or else in the next row of the same file; 1 without one."""
    rows = geometry.rows
    for at in range(max(0, index), len(rows)):
        if rows[at].file != rows[index].file:
            break
        if rows[at].new >= 0:
            return rows[at].new + 1
    return 1


def row_at(geometry: Geometry, y: int) -> int:
    """Return the row at a screen line of the view; -1 below the last one."""
    return geometry.at(y)[0] if y < geometry.height else -1


def scroll_to_row(geometry: Geometry, index: int, top: int, height: int) -> int | None:
    """Return the screen line to scroll to so that a row is in view, or None if it is already."""
    y = geometry.top_of(max(0, index))
    return None if top <= y < top + max(1, height) else max(0, y if y < top else y - max(1, height) + 1)


def row_in_view(geometry: Geometry, cursor: int, top: int, height: int) -> int:
    """Return the row in view that is nearest to the cursor's; -1 if the cursor is in view, or there are no rows."""
    line, bottom = geometry.top_of(max(0, cursor)) if geometry.height else 0, top + max(1, height) - 1
    if top <= line <= bottom or not geometry.height:
        return -1
    return geometry.at(min(max(line, top), bottom, geometry.height - 1))[0]


def top_of_hunk(geometry: Geometry, hunk: int) -> int:
    """Return the screen line at which a hunk begins; 0 if `hunk` is -1, which means no hunk."""
    return geometry.top_of(geometry.hunk_row(hunk)) if hunk >= 0 else 0


def search_marks(marks: Marks, matches: Collection[Match], here: Match | None) -> Marks:
    """Return the marks with the matches of a search, and with the current match."""
    by_line: dict[LineId, list[tuple[int, int]]] = {}
    for match in matches:
        by_line.setdefault(line_of_match(match), []).append((match.start, match.end))
    return replace(marks, matches=by_line, here=(line_of_match(here), here.start) if here is not None else None)


def line_of_match(match: Match) -> LineId:
    """Return the line of a match."""
    return match.file, match.side, match.line
