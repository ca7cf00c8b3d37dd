"""The diff view with a cursor: lines to comment, and the places a search found. Stands in the diff viewer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType

from workbench.diff.hunks import FileDiff
from workbench.tui.widgets.diff_view import DiffView
from workbench.view.diff.lines import Marks, line_of
from workbench.view.diff.rows import LineId, Row
from workbench.view.diff.search import Match


class ReviewView(DiffView):
    """One file; up and down move a cursor over its lines."""

    DEFAULT_CSS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "screen.again(1)", "Next match or hunk", show=False, id="viewer.next-match"),
        Binding("up", "move(-1)", "Line up", show=False, id="review.up"),
        Binding("down", "move(1)", "Line down", show=False, id="review.down"),
        Binding("pageup", "page(-1)", "Page up", show=False, id="review.page-up"),
        Binding("pagedown,space", "page(1)", "Page down", show=False, id="review.page-down"),
        Binding("home", "end(False)", "First line", show=False, id="review.first"),
        Binding("end", "end(True)", "Last line", show=False, id="review.last"),
    ]

    _line: LineId | None = None
    """Where the cursor stands, whatever the rows are now."""

    def show(self, files: Sequence[FileDiff]) -> None:
        """Show another file; the cursor stands on its first hunk."""
        self._line = None
        self.marks = Marks()
        super().show(files)
        if self.geometry.hunk_count:
            self.current = 0
            self._show_current()

    def update(self, diff: FileDiff) -> None:
        """The same file, changed since: the cursor stays where it is as far as it can."""
        line, place, top = self._line, self.marks.cursor, int(self.scroll_offset.y)
        super().show([diff])
        self._line = line
        self.lay_out()
        if line is None or self.geometry.row_of(line) < 0:
            self._stand(place)
        self.call_after_refresh(self._scroll_back, top)

    def remark(self, comments: Mapping[LineId, str]) -> None:
        """Show these comments below their lines."""
        if self.comments == comments:
            return
        self.comments = dict(comments)
        self.lay_out()
        self.call_after_refresh(self._bring_into_view)

    def lay_out(self, *, anew: bool = True) -> None:
        """The cursor stays on its line, which may be another row now."""
        super().lay_out(anew=anew)
        row = self.geometry.row_of(self._line) if self._line is not None else -1
        if row >= 0:
            self.marks = replace(self.marks, cursor=row)
            self.current = self.geometry.hunk_at(row)

    @property
    def row(self) -> Row | None:
        """The row the cursor stands on."""
        rows = self.geometry.rows
        return rows[self.marks.cursor] if 0 <= self.marks.cursor < len(rows) else None

    @property
    def line(self) -> LineId | None:
        """The line the cursor stands on (below it: its comment); None on a fold or a title."""
        return self._line

    def mark_found(self, matches: Sequence[Match], here: Match | None) -> None:
        """Colour these places; go to `here`, opening the fold it lies in."""
        found: dict[LineId, list[tuple[int, int]]] = {}
        for match in matches:
            found.setdefault((0, match.side, match.line), []).append((match.start, match.end))
        line: LineId | None = (0, here.side, here.line) if here is not None else None
        self.marks = replace(self.marks, found=found, here=(line, here.start) if line and here else None)
        if line is not None:
            row = self.geometry.row_of(line)
            if row >= 0 and self.geometry.rows[row].kind == "fold":
                self._open(row)
            self._stand(self.geometry.row_of(line))
        self.refresh()

    def _open(self, row: int) -> None:
        fold = self.geometry.rows[row]
        self._opened.add((fold.file, fold.old))
        self._line = (fold.file, "new", fold.new)
        self.lay_out()

    def action_fold(self) -> None:
        """Open the fold under the cursor, or more around the hunk."""
        row = self.row
        if row is not None and row.kind == "fold":
            self._open(self.marks.cursor)
        else:
            super().action_fold()

    def action_move(self, by: int) -> None:
        """The cursor goes up or down; past its first and last line the view scrolls no more."""
        self._stand(self.marks.cursor + by)

    def action_page(self, by: int) -> None:
        """A screenful up or down."""
        top = self.geometry.top_of(max(0, self.marks.cursor)) + by * max(1, self.size.height - 2)
        self._stand(self.geometry.at(max(0, min(top, self.geometry.height - 1)))[0])

    def action_end(self, last: bool) -> None:
        """The first or the last line."""
        self._stand(len(self.geometry.rows) - 1 if last else 0)

    def action_step(self, by: int) -> None:
        """The next or previous hunk from the cursor on."""
        geometry = self.geometry
        place = max(0, self.marks.cursor)
        if geometry.hunk_count and geometry.hunk_at(place) < 0:
            self.current = geometry.hunk_from(place) - (1 if by > 0 else 0)
        super().action_step(by)

    def _show_current(self) -> None:
        self._put(self.geometry.hunk_row(self.current))
        super()._show_current()

    def _keep_place(self, top: LineId | None) -> None:
        self.lay_out()
        self.scroll_to(x=0, animate=False)
        self.call_after_refresh(self._bring_into_view)

    def _put(self, index: int) -> None:
        """The cursor's row, and the line it stands for."""
        self.marks = replace(self.marks, cursor=index)
        row = self.row
        is_line = row is not None and row.kind not in ("file", "fold")
        self._line = line_of(row.file, row.old, row.new) if row is not None and is_line else None

    def _stand(self, row: int) -> None:
        """The cursor on a row; the hunk there is the chosen one."""
        last = len(self.geometry.rows) - 1
        if last < 0:
            return
        self._put(max(0, min(row, last)))
        self.current = self.geometry.hunk_at(self.marks.cursor)
        self.post_message(self.Stepped(self.current, self.geometry.hunk_count))
        self._bring_into_view()
        self.refresh()

    def _scroll_back(self, top: int) -> None:
        self.scroll_to(y=top, animate=False, force=True)
        self._bring_into_view()

    def _bring_into_view(self) -> None:
        top, height = int(self.scroll_offset.y), max(1, self.size.height)
        place = self.geometry.top_of(max(0, self.marks.cursor))
        if not top <= place < top + height:
            wanted = place if place < top else place - height + 1
            self.scroll_to(y=max(0, wanted), animate=False, force=True)

    def on_click(self, event: events.Click) -> None:
        """The cursor goes where the mouse is; a fold opens."""
        place = event.y + int(self.scroll_offset.y)
        if place >= self.geometry.height:
            return
        index = self.geometry.at(place)[0]
        if self.geometry.rows[index].kind != "fold":
            event.prevent_default()
            self._stand(index)
