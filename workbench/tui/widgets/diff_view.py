"""The diff view: a line-API widget that paints only what is seen. Stands in the approval modal and the diff viewer."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip
from textual.timer import Timer

from workbench.diff.hunks import FileDiff
from workbench.tui.widgets.diff_page import LOOKS, DiffPage
from workbench.tui.widgets.diff_painter import Painter
from workbench.tui.widgets.painting import css_beside, style_of
from workbench.view.diff.document import Document
from workbench.view.diff.lines import Marks, line_of
from workbench.view.diff.rows import LineId


class DiffView(DiffPage, can_focus=True):
    """Files compared: hunks to step through, unchanged parts folded, one or two columns."""

    DEFAULT_CSS = css_beside(__file__)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,n", "step(1)", "next hunk", id="diff.next"),
        Binding("k,p", "step(-1)", "previous hunk", id="diff.previous"),
        Binding("enter", "fold", "more or less around", id="diff.fold"),
        Binding("s", "split", "side by side", id="diff.split"),
        Binding("w", "wrap", "wrap lines", id="diff.wrap"),
    ]

    class Stepped(Message):
        """The chosen hunk changed: its place (from 0, -1 for none) and how many there are."""

        def __init__(self, hunk: int, count: int) -> None:
            super().__init__()
            self.hunk = hunk
            self.count = count

    def __init__(self, files: Sequence[FileDiff] = (), *, wrapped: bool = False, id: str | None = None) -> None:
        super().__init__(files, wrapped=wrapped, id=id)
        self.current = -1
        self.left_out: Collection[int] = ()
        """Hunks that are not taken, counted over all files; they are shown as such."""
        self.marks = Marks()
        self._styles: dict[str, Style] = {}
        self._working: Timer | None = None

    def show(self, files: Sequence[FileDiff]) -> None:
        """Show other files, from their top."""
        self.document = Document(files)
        self._opened.clear()
        self.current = -1
        self.lay_out()
        self.scroll_to(0, 0, animate=False)

    def show_edited(self, files: Sequence[FileDiff]) -> None:
        """Show the same files with other texts in their hunks, at the same place."""
        top = self._top_line()
        self.document = Document(files)
        self._keep_place(top)

    def notify_style_update(self) -> None:
        """Another theme: forget the styles of the old one."""
        super().notify_style_update()
        self._styles.clear()

    def style_named(self, name: str) -> Style:
        """The Rich style of a part of the view, "" for itself; kept until the theme changes, it costs much."""
        if name not in self._styles:
            self._styles[name] = style_of(self.app, LOOKS[name]) if name else self.rich_style
        return self._styles[name]

    def render_line(self, y: int) -> Strip:
        """Paint screen line `y`."""
        geometry, width = self.geometry, self.size.width
        place = y + int(self.scroll_offset.y)
        if place >= geometry.height:
            return Strip.blank(width, self.style_named(""))
        marks = replace(self.marks, left_out=self.left_out)
        painter = Painter(geometry, self.style_named, int(self.scroll_offset.x), self.current, marks)
        base = self.style_named("")
        segments = [Segment(text, base + style) for text, style, _ in painter.paint(*geometry.at(place))]
        self._work_on()
        return Strip(segments).adjust_cell_length(width, self.style_named(""))

    def _work_on(self) -> None:
        """Far syntax comes in small steps, so that no frame waits for it."""
        if self.document.has_work and self._working is None:
            self._working = self.set_interval(1 / 60, self._work)

    def _work(self) -> None:
        if self.document.work() and self._working is not None:
            self._working.stop()
            self._working = None
            self.refresh()

    def action_step(self, by: int) -> None:
        """Choose the next or previous hunk; the first step takes the one in view."""
        count = self.geometry.hunk_count
        if not count:
            return
        if self.current < 0:
            top = self.geometry.at(min(int(self.scroll_offset.y), self.geometry.height - 1))[0]
            wanted = self.geometry.hunk_from(top) - (by < 0)
        else:
            wanted = self.current + by
        self.current = min(max(wanted, 0), count - 1)
        self._show_current()

    def _show_current(self) -> None:
        row = self.geometry.top_of(self.geometry.hunk_row(self.current))
        room = self.size.height
        top = int(self.scroll_offset.y)
        is_cut = self.geometry.at(min(top, self.geometry.height - 1))[1] > 0
        if is_cut or not top + 1 <= row < top + room - min(6, room // 2):
            self.scroll_to(y=self.geometry.start_from(max(0, row - min(4, room // 4))), animate=False)
        self.refresh()
        self.post_message(self.Stepped(self.current, self.geometry.hunk_count))

    def action_fold(self) -> None:
        """Open the unchanged lines around the chosen hunk (all of them when none is chosen), or fold them again."""
        geometry = self.geometry
        folds = geometry.folds_around(self.current) if self.current >= 0 else geometry.rows.folds()
        before = geometry.top_of(geometry.hunk_row(self.current)) if self.current >= 0 else 0
        if folds:
            self._opened.update(folds)
        else:
            self._opened.clear()
        self.lay_out()
        after = self.geometry.top_of(self.geometry.hunk_row(self.current)) if self.current >= 0 else before
        top = int(self.scroll_offset.y) + after - before
        self.call_after_refresh(self.scroll_to, y=top, animate=False)  # the new height counts from then on

    def action_split(self) -> None:
        """Side by side or one over the other."""
        top = self._top_line()
        self.beside = not self.is_beside
        self._keep_place(top)

    def action_wrap(self) -> None:
        """Wrap long lines or scroll sideways."""
        top = self._top_line()
        self.wrapped = not self.wrapped
        self._keep_place(top)

    def _top_line(self) -> LineId | None:
        now, top = self.geometry, int(self.scroll_offset.y)
        row = now.rows[now.at(top)[0]] if top < now.height else None
        return line_of(row.file, row.old, row.new) if row else None

    def _keep_place(self, top: LineId | None) -> None:
        """Lay out anew; `top` was the line at the top."""
        self.lay_out()
        self.scroll_to(x=0, animate=False)
        self.call_after_refresh(self._back_to, top)

    def _back_to(self, line: LineId | None) -> None:
        """The chosen hunk, or what was at the top, is in sight again."""
        row = self.geometry.row_of(line) if line is not None else -1
        if self.current >= 0:
            self._show_current()
        elif row >= 0:
            self.scroll_to(y=self.geometry.top_of(row), animate=False)

    def on_click(self, event: events.Click) -> None:
        """Open the fold or choose the hunk under the mouse."""
        place = event.y + int(self.scroll_offset.y)
        if place >= self.geometry.height:
            return
        index = self.geometry.at(place)[0]
        row = self.geometry.rows[index]
        if row.kind == "fold":
            self._opened.add((row.file, row.old))
            self.lay_out()
        elif row.hunk >= 0:
            self.current = self.geometry.hunk_at(index)
            self._show_current()
