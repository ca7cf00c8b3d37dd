"""The files of an annotated diff: which one is under the cursor, going to another one, and showing new versions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from operator import is_
from typing import NamedTuple

from workbench.diff.hunks import FileDiff
from workbench.tui.widgets.annotated_diff import AnnotatedDiff
from workbench.tui.widgets.diff_layout import line_at, row_at
from workbench.view.diff.document import DiffDocument
from workbench.view.diff.rows import DiffRow, LineId


class _Anchor(NamedTuple):
    """A row, identified by its file and path, its line if any, and its distance from the file's first row."""

    file: int
    path: str
    line: LineId | None
    offset: int
    is_title_alone: bool
    """Whether it is the title of a file without hunks, whose lines may be shown later."""


class DiffFiles:
    """The files that an annotated diff shows, counted from 0."""

    def __init__(self, view: AnnotatedDiff) -> None:
        self._view = view

    @property
    def current(self) -> int:
        """The index of the file under the cursor; -1 if nothing is shown."""
        return self._row.file if self._row is not None else -1

    @property
    def hunk(self) -> int:
        """The hunk under the cursor, counted from 0 in its file; -1 if there is none."""
        return self._row.hunk if self._row is not None else -1

    @property
    def _row(self) -> DiffRow | None:
        rows = self._view.geometry.rows
        return rows[min(max(0, self._view.marks.cursor), len(rows) - 1)] if len(rows) else None

    def show(self, files: Sequence[FileDiff], first: int = 0) -> None:
        """Show other files, with the cursor on the first hunk of file `first`."""
        self._view.show(files)
        if files:
            self.go_to(first)

    def go_to(self, file: int) -> None:
        """Put the cursor on the first hunk of a file, and the file's title at the top if both are in view then."""
        geometry = self._view.geometry
        self._view.move_to(geometry.start_of_file(file))
        top = geometry.top_of(geometry.rows_of_file(file)[0])
        self._view.call_after_refresh(self._view.bring_into_view, top)

    def jump_to(self, row: int) -> None:
        """Put the cursor on a row, and the row in the middle of the view."""
        view = self._view
        view.move_to(row)
        view.bring_into_view(view.geometry.top_of(view.marks.cursor) - view.size.height // 2)

    def mark_reviewed(self, files: Collection[int]) -> None:
        """Mark these files as reviewed in their titles."""
        self._view.marks = replace(self._view.marks, reviewed=frozenset(files))
        self._view.refresh()

    def update(self, files: Sequence[FileDiff]) -> None:
        """Show new versions of the files, or others, keeping the cursor and what is in view if possible."""
        view = self._view
        earlier = view.page.document
        if len(files) == len(earlier.files) and all(map(is_, files, earlier.files)):
            return
        before, cursor, top = view.geometry, max(0, view.marks.cursor), int(view.scroll_offset.y)
        is_in_view = top <= before.top_of(cursor) < top + max(1, view.size.height)
        fixed = cursor if is_in_view else max(0, row_at(before, top))
        cursor_anchor, anchor, offset = self._anchor(cursor), self._anchor(fixed), top - before.top_of(fixed)
        numbers = {diff.path: number for number, diff in enumerate(files)}
        opened = {(numbers.get(earlier.files[file].path, -1), line) for file, line in view.page.opened}
        view.page.document = DiffDocument(files, earlier)
        view.page.opened = {(file, line) for file, line in opened if file >= 0}
        view.line = None
        view.lay_out()
        if cursor_anchor.is_title_alone and cursor_anchor.path in numbers:
            self.go_to(numbers[cursor_anchor.path])
            return
        view.move_to(self._row_of(cursor_anchor, numbers), scrolls=False)
        target = view.geometry.top_of(self._row_of(anchor, numbers)) + offset
        view.call_after_refresh(view.bring_into_view, target, is_in_view)

    def _anchor(self, row: int) -> _Anchor:
        geometry = self._view.geometry
        if not 0 <= row < len(geometry.rows):
            return _Anchor(0, "", None, 0, False)
        file = geometry.rows[row].file
        diff = geometry.document.files[file]
        return _Anchor(file, diff.path, line_at(geometry, row), row - geometry.rows_of_file(file)[0], not diff.hunks)

    def _row_of(self, anchor: _Anchor, numbers: Mapping[str, int]) -> int:
        """Return the row that shows an anchor now; `numbers` holds the number of each file by its path."""
        geometry, file = self._view.geometry, numbers.get(anchor.path, -1)
        if file < 0:  # the file is gone; the next one takes its position
            last = len(geometry.document.files) - 1
            return geometry.start_of_file(min(anchor.file, last)) if last >= 0 else 0
        top, end = geometry.rows_of_file(file)
        row = geometry.row_of((file, *anchor.line[1:])) if anchor.line is not None else -1
        return row if row >= 0 else min(top + anchor.offset, end - 1)
