"""All compared files as one page with a cursor, comments on lines, and search matches. Part of the diff viewer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Final

from textual import events, on
from textual.binding import Binding, BindingType
from textual.widget import Widget

from workbench.diff.hunks import FileDiff
from workbench.tui.widgets.diff_layout import line_at, line_of_match, row_at, row_in_view, scroll_to_row, search_marks
from workbench.tui.widgets.diff_view import DiffView
from workbench.view.diff.lines import Marks
from workbench.view.diff.rows import LineId
from workbench.view.diff.search import Match

_KEYS: Final[list[BindingType]] = [
    Binding("n", "screen.again(1)", "Next match or hunk", show=False, id="viewer.next-match"),
    Binding("up", "move(-1)", "Line up", show=False, id="review.up"),
    Binding("down", "move(1)", "Line down", show=False, id="review.down"),
    Binding("pageup", "page(-1)", "Page up", show=False, id="review.page-up"),
    Binding("pagedown,space", "page(1)", "Page down", show=False, id="review.page-down"),
    Binding("home", "end(False)", "First line", show=False, id="review.first"),
    Binding("end", "end(True)", "Last line", show=False, id="review.last"),
]


class AnnotatedDiff(DiffView):
    """Shows files one below the other; up and down move a cursor over their lines."""

    DEFAULT_CSS = ""
    BINDINGS: ClassVar[list[BindingType]] = _KEYS

    line: LineId | None = None
    """The line under the cursor, which a new layout may move to another row; None on a fold or a title."""
    ruler: Widget | None = None  # paints beside this widget where its hunks are

    def show(self, files: Sequence[FileDiff]) -> None:
        """Show other files, with the cursor on the first hunk."""
        self.line = None
        self.marks = Marks()
        super().show(files)
        if len(self.geometry.rows):
            self.move_to(self.geometry.start_of_file(0))

    def remark(self, comments: Mapping[LineId, str]) -> None:
        """Show these comments below their lines."""
        if self.page.comments != comments:
            self.page.comments = dict(comments)
            self.lay_out()
            self.call_after_refresh(self.bring_into_view)

    def lay_out(self, *, rows_changed: bool = True) -> None:
        """Lay out, keeping the cursor on its line, which may have moved to another row."""
        super().lay_out(rows_changed=rows_changed)
        if self.ruler is not None:
            self.ruler.refresh()
        row = self.geometry.row_of(self.line) if self.line is not None else -1
        if row >= 0:
            self.marks = replace(self.marks, cursor=row)
            self.current = self.geometry.hunk_at(row)

    def mark_matches(self, matches: Sequence[Match], here: Match | None) -> None:
        """Mark these matches and go to `here`, opening the fold that hides it."""
        self.marks = search_marks(self.marks, matches, here)
        if here is not None:
            self._open_fold(self.geometry.row_of(line_of_match(here)))
            self.move_to(self.geometry.row_of(line_of_match(here)))
        self.refresh()

    def _open_fold(self, row: int) -> bool:
        """Open the fold in this row; return False if it is not a fold."""
        diff_row = self.geometry.rows[row] if 0 <= row < len(self.geometry.rows) else None
        if diff_row is None or not self.page.open_fold(diff_row):
            return False
        self.line = (diff_row.file, "new", diff_row.new)
        self.lay_out()
        return True

    def action_fold(self) -> None:
        """Open the fold under the cursor, or more lines around the hunk."""
        if not self._open_fold(self.marks.cursor):
            super().action_fold()

    def action_move(self, by: int) -> None:
        """Move the cursor up or down."""
        self.move_to(self.marks.cursor + by)

    def action_page(self, by: int) -> None:
        """Move the cursor by a screenful."""
        top = self.geometry.top_of(max(0, self.marks.cursor)) + by * max(1, self.size.height - 2)
        self.move_to(self.geometry.at(max(0, min(top, self.geometry.height - 1)))[0])

    def action_end(self, last: bool) -> None:
        """Move to the first or the last line."""
        self.move_to(len(self.geometry.rows) - 1 if last else 0)

    def action_step(self, by: int) -> None:
        """Go to the next or previous hunk from the cursor, in any file; a file without hunks counts as one."""
        row = self.geometry.step_from(max(0, self.marks.cursor), by)
        if row >= 0 and self.geometry.hunk_at(row) >= 0:
            self.current = self.geometry.hunk_at(row)
            self._show_current()
        elif row >= 0:
            self.move_to(row)

    def _show_current(self) -> None:
        self.set_cursor(self.geometry.hunk_row(self.current))
        super()._show_current()

    def _back_to(self, line: LineId | None) -> None:
        self.bring_into_view()

    def set_cursor(self, row: int) -> None:
        self.marks = replace(self.marks, cursor=row)
        self.line = line_at(self.geometry, row)
        self.page.cursor_file = self.geometry.rows[row].file

    def move_to(self, row: int, *, scrolls: bool = True) -> None:
        """Put the cursor on the nearest row, make the hunk there the current one, and scroll to it if asked."""
        last = len(self.geometry.rows) - 1
        if last < 0:
            return
        self.set_cursor(max(0, min(row, last)))
        self.current = self.geometry.hunk_at(self.marks.cursor)
        self.post_message(self.Stepped(self.current, self.geometry.hunk_count))
        if scrolls:
            self.bring_into_view()
        self.refresh()

    def bring_into_view(self, scroll_first: int | None = None, follows_cursor: bool = True) -> None:
        """Scroll so that the cursor is in view, after scrolling to screen line `scroll_first` if given."""
        if scroll_first is not None:
            self.scroll_to(y=max(0, scroll_first), animate=False, force=True)
        y = scroll_to_row(self.geometry, self.marks.cursor, int(self.scroll_offset.y), self.size.height)
        if y is not None and follows_cursor:
            self.scroll_to(y=y, animate=False, force=True)

    @on(events.MouseScrollDown)
    @on(events.MouseScrollUp)
    def on_wheel(self) -> None:
        """Let the cursor follow the wheel, so that the keys act on what is in view."""
        self.call_after_refresh(_bring_cursor, self)

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the line under the mouse, or open a fold."""
        index = row_at(self.geometry, event.y + int(self.scroll_offset.y))
        if index >= 0 and self.geometry.rows[index].kind != "fold":
            event.prevent_default()
            self.move_to(index)


def _bring_cursor(view: AnnotatedDiff) -> None:
    """Move the cursor to the nearest row in view, if it is not in view."""
    row = row_in_view(view.geometry, view.marks.cursor, int(view.scroll_offset.y), view.size.height)
    if row >= 0:
        view.move_to(row, scrolls=False)
