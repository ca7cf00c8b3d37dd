"""Text of a question that scrolls if it does not fit. Used by the panels that ask for an approval."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from rich.segment import Segment
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from workbench.tui.widgets.strips import STYLES, css_beside, style_of
from workbench.view.wrapping import Line

_LOOKS: Final = STYLES | {
    "command": "bold $foreground",
    "label": "$panel-title",
    "argument": "$foreground",
    "added": "on $diff-added",
    "removed": "on $diff-removed",
}


class QuestionText(ScrollView, can_focus=False):
    """Shows all rows that a function returns for its width."""

    DEFAULT_CSS = css_beside(__file__)

    def __init__(self, build: Callable[[int], list[Line]], *, id: str | None = None) -> None:
        """`build` returns the rows for a width in cells, none of them wider."""
        super().__init__(id=id)
        self._build = build
        self._rows: list[Line] = []
        self._rows_width = 0
        self._is_new = True

    def forget(self) -> None:
        """Build the rows again, because what they show has changed; call `lay_out` afterwards."""
        self._rows_width = 0

    def rows_at(self, width: int) -> int:
        """Return the number of rows that the text takes at a width."""
        if width != self._rows_width:
            self._rows = self._build(max(4, width))
            self._rows_width = width
            self._is_new = True
        return len(self._rows)

    def lay_out(self, width: int) -> None:
        """Wrap for a width, which must be the widget's without its scrollbar."""
        self.virtual_size = Size(width, self.rows_at(width))
        if self._is_new:
            self._is_new = False
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """Paint screen line `y`."""
        index = y + int(self.scroll_offset.y)
        base = self.rich_style
        row = self._rows[index] if index < len(self._rows) else []
        styled = ((piece.text, _LOOKS.get(piece.style, "")) for piece in row)
        segments = [Segment(text, base + style_of(self.app, style) if style else base) for text, style in styled]
        return Strip(segments).adjust_cell_length(self.size.width, base)
