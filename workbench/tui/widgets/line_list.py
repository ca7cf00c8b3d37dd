"""A list of single lines whose cost does not depend on their number, be it ten or a hundred thousand.

Base of the timeline, the task and changes panels and the pager: subclasses return the number of lines and the content
of each. Only visible lines are painted, and two screenfuls are cached.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Final

from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.cache import LRUCache
from textual.content import Content
from textual.geometry import Size
from textual.reactive import var
from textual.strip import Strip
from textual.widget import Widget

from workbench.tui.textual_seam.layout import QuietScrollView
from workbench.tui.widgets.strips import MARKS, as_strip, css_beside, entitle, line_styles
from workbench.view.wrapping import Line, Piece

_LEAST_CACHED: Final = 128
"""Minimum number of painted lines to cache; each takes about 4 kB."""
_HEADING_MARGIN: Final = 2
"""The cells of a heading that stay free: the cursor's column and the scrollbar's."""


KEYS: Final[list[BindingType]] = [
    Binding("up,k", "move(-1)", "Up", show=False, id="list.up"),
    Binding("down,j", "move(1)", "Down", show=False, id="list.down"),
    Binding("pageup", "page(-1)", "Page up", show=False, id="list.page-up"),
    Binding("pagedown", "page(1)", "Page down", show=False, id="list.page-down"),
    Binding("home", "first", "First", show=False, id="list.first"),
    Binding("end", "last", "Last", show=False, id="list.last"),
    Binding("enter", "choose", "Open", id="list.open"),
]


class StripCache:
    """Painted lines by index, width and mark, and the styles that they were painted with."""

    def __init__(self) -> None:
        self.strips: LRUCache[tuple[int, int, str], Strip] = LRUCache(_LEAST_CACHED)
        self._styles: dict[str, Style] = {}
        self._base: Style | None = None

    def discard(self, index: int | None, width: int) -> None:
        """Drop one line, or all of them."""
        if index is None:
            self.strips.clear()
        else:
            for mark in ("", "cursor"):
                self.strips.discard((index, width, mark))

    def resize(self, height: int) -> None:
        """Drop all lines, and make room for two screens of this height."""
        self.strips.clear()
        self.strips.grow(max(_LEAST_CACHED, 2 * height))

    def restyle(self) -> None:
        """Drop all lines and styles, because the theme has changed."""
        self.strips.clear()
        self._styles.clear()
        self._base = None

    def base_of(self, widget: Widget) -> Style:
        """Return the style of a line without marks, which Textual computes on each read."""
        if self._base is None:
            self._base = widget.rich_style
        return self._base

    def styles_of(self, widget: Widget) -> dict[str, Style]:
        """Return the styles of the current theme, which are computed only once."""
        self._styles = self._styles or line_styles(widget)
        return self._styles


class Heading:
    """The line above a panel: its name and, at the right end, a count, or a hint about lines below the visible ones."""

    def __init__(self, panel: Widget) -> None:
        self._panel = panel
        self._name = self._count = Content("")
        self.hint = Content("")

    def set(self, name: Content, count: Content) -> None:
        """Show this name and this count."""
        self._name, self._count = name, count
        self.show()

    def set_hint(self, hint: Content) -> None:
        """Show a hint in place of the count, or the count again if the hint is empty."""
        if not hint.is_same(self.hint):
            self.hint = hint
            self.show()

    def show(self) -> None:
        """Fit the heading to the width of the panel."""
        end = self.hint if self.hint.plain else self._count
        space = self._panel.size.width - _HEADING_MARGIN - self._name.cell_length - end.cell_length
        if self._name.plain:
            entitle(self._panel, Content.assemble(self._name, " " * max(1, space), end))


class LineList(QuietScrollView, can_focus=True):
    """Lines with a cursor; with `follows_end`, the last line stays in sight once it has been reached."""

    DEFAULT_CSS = css_beside(__file__)
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"line--{name}" for name in MARKS}
    BINDINGS: ClassVar[list[BindingType]] = KEYS

    cursor: var[int] = var(0)
    follows_end: ClassVar[bool] = False
    keeps_cursor: ClassVar[bool] = False

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.count = 0
        self.is_at_end = True
        self._painted_strips = StripCache()
        self.heading = Heading(self)

    @abstractmethod
    def line(self, index: int, width: int) -> Line:
        """Return line `index`; the first cell of the widget is for the cursor."""

    def choose(self, index: int) -> None:
        """Act on enter or a click on line `index`."""

    def set_count(self, count: int) -> None:
        """Set the number of lines, and follow the end if it was in sight."""
        follow = self.follows_end and self.is_at_end
        self.count = count
        self.virtual_size = Size(self.size.width, count)
        self.cursor = max(0, count - 1 if follow else min(self.cursor, count - 1))
        if follow:
            self.scroll_to(y=self.max_scroll_y, animate=False, force=True)
            self.is_at_end = True

    def on_resize(self) -> None:
        """Repaint for the new width, keeping the end in sight if it was."""
        self.heading.show()
        self._painted_strips.resize(self.size.height)
        self.set_count(self.count)

    def forget(self, index: int | None = None) -> None:
        """Repaint line `index`, or all lines."""
        self._painted_strips.discard(index, line_width(self))
        if index is None:
            self.refresh()
        else:
            self.refresh_lines(index, 1)

    def notify_style_update(self) -> None:
        """Repaint with the new theme's styles."""
        self._painted_strips.restyle()
        super().notify_style_update()

    def render_line(self, y: int) -> Strip:
        """Return the strip of one visible line."""
        width, base, index = line_width(self), self._painted_strips.base_of(self), self.scroll_offset.y + y
        if index >= self.count:
            return Strip.blank(width, base)
        mark = "cursor" if index == self.cursor and _shows_cursor(self) else ""
        strip = self._painted_strips.strips.get((index, width, mark))
        if strip is None:
            strip = self._painted_strips.strips[index, width, mark] = self._paint(index, width, mark, base)
        return strip

    def _paint(self, index: int, width: int, mark: str, base: Style) -> Strip:
        styles = self._painted_strips.styles_of(self)
        line = [Piece("›" if mark else " "), *self.line(index, width - 1)]
        return as_strip(line, width, styles, base + styles[mark] if mark else base)

    def watch_cursor(self, before: int, after: int) -> None:
        """Repaint the line that the cursor left and the one that it moved to."""
        self.refresh_lines(before, 1)
        self.refresh_lines(after, 1)

    def action_move(self, by: int) -> None:
        """Move the cursor up or down."""
        self.move_to(self.cursor + by)

    def action_page(self, by: int) -> None:
        """Move the cursor by a screenful."""
        self.move_to(self.cursor + by * max(1, self.size.height - 1))

    def action_first(self) -> None:
        """Move to the first line."""
        self.move_to(0)

    def action_last(self) -> None:
        """Move to the last line, and follow it."""
        self.move_to(self.count - 1)

    def action_choose(self) -> None:
        """Open the line under the cursor."""
        if self.count:
            self.choose(self.cursor)

    def on_click(self, event: events.Click) -> None:
        """Move to a line and open it."""
        offset = event.get_content_offset(self)
        index = offset.y + self.scroll_offset.y if offset is not None else -1  # None on the border
        if 0 <= index < self.count:
            self.move_to(index)
            self.choose(index)

    def move_to(self, index: int) -> None:
        """Put the cursor on the nearest existing line, and bring it into view."""
        self.cursor = max(0, min(self.count - 1, index))
        top, height = self.scroll_offset.y, max(1, self.size.height)
        if not top <= self.cursor < top + height:
            self.scroll_to(y=self.cursor if self.cursor < top else self.cursor - height + 1, animate=False, force=True)
        self.is_at_end = self.cursor >= self.count - 1

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Stop following the end when it is scrolled out of sight, and follow it again at the end."""
        super().watch_scroll_y(old_value, new_value)
        self.is_at_end = self.is_vertical_scroll_end


def _shows_cursor(lines: LineList) -> bool:
    """Return whether the cursor is visible; `keeps_cursor` says that it is while a field beside has the focus."""
    return lines.has_focus or lines.keeps_cursor or not lines.can_focus


class FittingList(LineList):
    """Lines whose number is the height of the widget, up to a limit."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._most_rows = 0

    def limit(self, rows: int) -> None:
        """Limit the height to this many rows; 0 means that there is no limit."""
        if rows != self._most_rows:
            self._most_rows = rows
            self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the number of lines, up to the limit."""
        return min(self.count, self._most_rows or self.count)


def line_width(view: QuietScrollView) -> int:
    """Return the width of a line in cells, without the scrollbar, which would cover its last cell."""
    return view.size.width - bool(view.show_vertical_scrollbar)
