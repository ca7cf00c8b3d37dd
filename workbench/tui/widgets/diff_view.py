"""The diff view: a line-API widget that paints only visible lines. Used by the approval screen and the diff viewer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar, Final, TypeAlias

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.timer import Timer

from workbench.diff.hunks import FileDiff
from workbench.tui.widgets.diff_layout import DiffLayout, next_hunk, row_at, scroll_to_hunk, top_of_hunk
from workbench.tui.widgets.diff_painter import DiffStyles, Painter
from workbench.tui.widgets.strips import css_beside
from workbench.view.diff.document import DiffDocument
from workbench.view.diff.geometry import Geometry
from workbench.view.diff.lines import Marks, line_of
from workbench.view.diff.rows import LineId

_KEYS: Final[list[BindingType]] = [
    Binding("j,n", "step(1)", "next hunk", id="diff.next"),
    Binding("k,p", "step(-1)", "previous hunk", id="diff.previous"),
    Binding("enter", "fold", "expand context", id="diff.fold"),
    Binding("s", "split", "side by side", id="diff.split"),
    Binding("w", "wrap", "wrap lines", id="diff.wrap"),
]


class HunkStepped(Message):
    """Another hunk became current: its index (-1 for none), and the number of hunks."""

    def __init__(self, hunk: int, count: int) -> None:
        super().__init__()
        self.hunk = hunk
        self.count = count


class DiffRenderer:
    """Paints the lines of a view, and highlights the syntax of distant ones in small steps, so that no frame waits."""

    def __init__(self) -> None:
        self.styles = DiffStyles()
        self._timer: Timer | None = None

    def line(self, view: DiffView, y: int) -> Strip:
        """Paint screen line `y`."""
        geometry, width = view.geometry, view.size.width
        style = partial(self.styles.named, view)
        base, top = style(""), y + int(view.scroll_offset.y)
        if top >= geometry.height:
            return Strip.blank(width, base)
        painter = Painter(geometry, style, int(view.scroll_offset.x), view.current, view.marks)
        segments = [Segment(text, base + part) for text, part, _ in painter.paint(*geometry.at(top))]
        if view.page.document.has_work and self._timer is None:
            self._timer = view.set_interval(1 / 60, partial(self._highlight, view))
        return Strip(segments).adjust_cell_length(width, base)

    def _highlight(self, view: DiffView) -> None:
        if view.page.document.work() and self._timer is not None:
            self._timer.stop()
            self._timer = None
            view.refresh()


class DiffView(ScrollView, can_focus=True):
    """Shows compared files: hunks to step through, unchanged parts folded, one or two columns."""

    Stepped: TypeAlias = HunkStepped
    DEFAULT_CSS = css_beside(__file__)
    BINDINGS: ClassVar[list[BindingType]] = _KEYS

    def __init__(self, files: Sequence[FileDiff] = (), *, wrapped: bool = False, id: str | None = None) -> None:
        super().__init__(id=id)
        self.page = DiffLayout(files, wrapped=wrapped)
        self.current = -1
        self.marks = Marks()
        self._renderer = DiffRenderer()

    @property
    def geometry(self) -> Geometry:
        """The geometry of the diff at the current width."""
        geometry = self._at(max(20, self.scrollable_content_region.width or self.size.width))
        if self.page.is_new_layout(geometry.options):
            # A scrollbar came or went, so the height may have changed.
            self.call_later(self.lay_out, rows_changed=False)
        return geometry

    def _at(self, width: int) -> Geometry:
        return self.page.at(width, self.app.size.width)

    def rows_at(self, width: int) -> int:
        """Return the number of rows that all lines take at a width."""
        return self._at(width).height

    def foresee(self, width: int, most: int) -> int:
        """Lay out a view before it is shown, `width` cells wide with scrollbar; return its height, at most `most`."""
        is_long = self.page.is_longer(most, width, self.app.size.width)
        self._lay(self._at(width - 1 if is_long else width))
        self.show_vertical_scrollbar = is_long
        return min(most, max(1, self.virtual_size.height))

    def _lay(self, geometry: Geometry, *, rows_changed: bool = False) -> None:
        size = Size(geometry.options.width + geometry.overhang, geometry.height)
        if rows_changed or size != self.virtual_size:
            self.virtual_size = size
            self.refresh()

    def lay_out(self, *, rows_changed: bool = True) -> None:
        """Lay out for the current width; with `rows_changed` false, only the width differs from the last layout."""
        self.page.restart(rows_changed=rows_changed)
        self._lay(self.geometry, rows_changed=rows_changed)

    def on_resize(self, event: events.Resize) -> None:
        """Lay out for the new width."""
        self.lay_out(rows_changed=False)

    def show(self, files: Sequence[FileDiff]) -> None:
        """Show these files from the top."""
        self.page.document = DiffDocument(files)
        self.page.opened.clear()
        self.current = -1
        self.lay_out()
        self.scroll_to(0, 0, animate=False)

    def show_edited(self, files: Sequence[FileDiff]) -> None:
        """Show the same files with other texts in their hunks, at the same position."""
        self._change(lambda: setattr(self.page, "document", DiffDocument(files)))

    def notify_style_update(self) -> None:
        """Repaint with the new theme's styles."""
        super().notify_style_update()
        self._renderer.styles.clear()

    def render_line(self, y: int) -> Strip:
        """Paint screen line `y`."""
        return self._renderer.line(self, y)

    def action_step(self, by: int) -> None:
        """Go to the next or previous hunk; the first step goes to the hunk in view."""
        if self.geometry.hunk_count:
            self.current = next_hunk(self.geometry, self.current, int(self.scroll_offset.y), by)
            self._show_current()

    def _show_current(self) -> None:
        y = scroll_to_hunk(self.geometry, self.current, int(self.scroll_offset.y), self.size.height)
        if y is not None:
            self.scroll_to(y=y, animate=False)
        self.refresh()
        self.post_message(self.Stepped(self.current, self.geometry.hunk_count))

    def action_fold(self) -> None:
        """Unfold the unchanged lines around the current hunk (all of them if there is none), or fold them again."""
        before = self.geometry
        self.page.toggle_folds(before, self.current)
        self.lay_out()
        moved = top_of_hunk(self.geometry, self.current) - top_of_hunk(before, self.current)
        top = int(self.scroll_offset.y) + moved
        self.call_after_refresh(self.scroll_to, y=top, animate=False)  # the new height takes effect only then

    def action_split(self) -> None:
        """Show old and new side by side, or one below the other."""
        self._change(lambda: setattr(self.page, "beside", not self.geometry.options.beside))

    def action_wrap(self) -> None:
        """Wrap long lines, or scroll sideways."""
        self._change(lambda: setattr(self.page, "wrapped", not self.page.wrapped))

    def _change(self, change: Callable[[], None]) -> None:
        """Make a change and lay out again, keeping the current hunk or the top line in sight."""
        index = row_at(self.geometry, int(self.scroll_offset.y))
        row = self.geometry.rows[index] if index >= 0 else None
        change()
        self.lay_out()
        self.scroll_to(x=0, animate=False)
        self.call_after_refresh(self._back_to, line_of(row.file, row.old, row.new) if row else None)

    def _back_to(self, line: LineId | None) -> None:
        row = self.geometry.row_of(line) if line is not None else -1
        if self.current >= 0:
            self._show_current()
        elif row >= 0:
            self.scroll_to(y=self.geometry.top_of(row), animate=False)

    def on_click(self, event: events.Click) -> None:
        """Open the fold or choose the hunk under the mouse."""
        index = row_at(self.geometry, event.y + int(self.scroll_offset.y))
        if index >= 0 and self.page.open_fold(self.geometry.rows[index]):
            self.lay_out()
        elif index >= 0 and self.geometry.rows[index].hunk >= 0:
            self.current = self.geometry.hunk_at(index)
            self._show_current()
