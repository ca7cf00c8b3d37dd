"""A list of single lines that costs the same for ten rows and for a hundred thousand.

Base of the timeline, the task and changes panels and the pager: subclasses say how many lines there are and what one
looks like; only the lines in sight are made, and those of two screens are kept.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Final

from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.cache import LRUCache
from textual.geometry import Size
from textual.reactive import var
from textual.strip import Strip

from workbench.tui.textual_seam.layout import QuietScrollView
from workbench.tui.widgets.painting import MARKS, STYLES, as_strip, css_beside, style_of
from workbench.view.formatting.wrapping import Line, Piece

_MOST_PAINTED: Final = 128
"""Painted lines that are kept, at least; each has some four kilobytes."""


class LineList(QuietScrollView, can_focus=True):
    """Lines with a cursor; follows the end while the end is in sight (`follows`)."""

    DEFAULT_CSS = css_beside(__file__)
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"line--{name}" for name in MARKS}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False, id="list.up"),
        Binding("down,j", "move(1)", "Down", show=False, id="list.down"),
        Binding("pageup", "page(-1)", "Page up", show=False, id="list.page-up"),
        Binding("pagedown", "page(1)", "Page down", show=False, id="list.page-down"),
        Binding("home", "first", "First", show=False, id="list.first"),
        Binding("end", "last", "Last", show=False, id="list.last"),
        Binding("enter", "choose", "Open", id="list.open"),
    ]

    cursor: var[int] = var(0)
    follows_end: ClassVar[bool] = False

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._count = 0
        self._strips: LRUCache[tuple[int, int, str], Strip] = LRUCache(_MOST_PAINTED)
        self._styles: dict[str, Style] = {}
        self._at_end = True

    @abstractmethod
    def line(self, index: int, width: int) -> Line:
        """What line `index` shows; the first two cells of the widget belong to the cursor."""

    def choose(self, index: int) -> None:
        """Enter or a click on line `index`."""

    def set_count(self, count: int) -> None:
        """The list has so many lines now; follows the end when it did before."""
        follow = self.follows_end and self._at_end
        self._count = count
        self.virtual_size = Size(self.size.width, count)
        self.cursor = max(0, count - 1 if follow else min(self.cursor, count - 1))
        if follow:
            self._to_end()

    def on_resize(self) -> None:
        """Lines are laid out for the new width; the end stays in sight."""
        self._strips.clear()
        self._strips.grow(max(_MOST_PAINTED, 2 * self.size.height))
        self.virtual_size = Size(self.size.width, self._count)
        if self.follows_end and self._at_end:
            self._to_end()

    def forget(self, index: int | None = None) -> None:
        """Line `index` (or every line) looks different now."""
        if index is None:
            self._strips.clear()
            self.refresh()
            return
        for mark in ("", "cursor"):
            self._strips.discard((index, _line_width(self), mark))
        self.refresh_lines(index, 1)

    def notify_style_update(self) -> None:
        """Another theme: all colours are asked for again."""
        self._strips.clear()
        self._styles.clear()
        super().notify_style_update()

    def render_line(self, y: int) -> Strip:
        """One line in sight."""
        width, base = _line_width(self), self.rich_style
        index = self.scroll_offset.y + y
        if index >= self._count:
            return Strip.blank(width, base)
        mark = "cursor" if index == self.cursor and self.has_focus else ""
        key = (index, width, mark)
        strip = self._strips.get(key)
        if strip is None:
            strip = self._strips[key] = self._paint(index, width, mark, base)
        return strip

    def watch_cursor(self, before: int, after: int) -> None:
        """Only the two lines concerned are painted again."""
        self.refresh_lines(before, 1)
        self.refresh_lines(after, 1)

    def action_move(self, by: int) -> None:
        """The cursor goes up or down."""
        self._go(self.cursor + by)

    def action_page(self, by: int) -> None:
        """A screenful up or down."""
        self._go(self.cursor + by * max(1, self.size.height - 1))

    def action_first(self) -> None:
        """To the first line."""
        self._go(0)

    def action_last(self) -> None:
        """To the last line, and follow it."""
        self._go(self._count - 1)

    def action_choose(self) -> None:
        """Open what the cursor stands on."""
        if self._count:
            self.choose(self.cursor)

    def on_click(self, event: events.Click) -> None:
        """A click moves the cursor and opens."""
        place = event.get_content_offset(self)
        if place is None:
            return  # on the border
        index = place.y + self.scroll_offset.y
        if 0 <= index < self._count:
            self._go(index)
            self.choose(index)

    def _go(self, index: int) -> None:
        self.cursor = max(0, min(self._count - 1, index))
        top, height = self.scroll_offset.y, max(1, self.size.height)
        if not top <= self.cursor < top + height:
            self.scroll_to(y=self.cursor if self.cursor < top else self.cursor - height + 1, animate=False, force=True)
        self._at_end = self.cursor >= self._count - 1

    def _to_end(self) -> None:
        self.scroll_to(y=self.max_scroll_y, animate=False, force=True)
        self._at_end = True

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Scrolling away from the end stops following; reaching it takes it up again."""
        super().watch_scroll_y(old_value, new_value)
        self._at_end = self.is_vertical_scroll_end

    def _paint(self, index: int, width: int, mark: str, base: Style) -> Strip:
        if not self._styles:
            self._styles = self._all_styles()
        ground = base + self._styles[mark] if mark else base
        line = [Piece("›" if mark else " "), *self.line(index, width - 1)]
        return as_strip(line, width, self._styles, ground)

    def _all_styles(self) -> dict[str, Style]:
        plain = {name: style_of(self.app, words) for name, words in STYLES.items()}
        return plain | {name: self.get_component_rich_style(f"line--{name}") for name in MARKS}


def _line_width(shown: QuietScrollView) -> int:
    """Cells of a line: those beside the scrollbar, which would cover the last one."""
    return shown.size.width - bool(shown.show_vertical_scrollbar)
