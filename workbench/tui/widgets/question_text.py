"""Lines of a question, wrapped and scrolled, never cut: a line-API widget of the approval modal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from rich.segment import Segment
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from workbench.tui.widgets.painting import css_beside, style_of
from workbench.view.diff.lines import wrap_places
from workbench.view.formatting.approval import Said
from workbench.view.formatting.wrapping import row_starts

_LEAST_INDENT: Final = 4
_LOOKS: Final = {
    "command": "bold $foreground",
    "label": "$panel-title",
    "argument": "$foreground",
    "dim": "$dim",
    "added": "on $diff-added",
    "removed": "on $diff-removed",
    "risk-low": "$risk-low",
    "risk-medium": "$risk-medium",
    "risk-high": "bold $risk-high",
    "risk-unknown": "$risk-unknown",
}


class QuestionText(ScrollView, can_focus=False):
    """Shows all of its lines at any width; `by_word` wraps prose, otherwise every sign keeps its place."""

    DEFAULT_CSS = css_beside(__file__)

    def __init__(self, said: Sequence[Said], *, by_word: bool = False, id: str | None = None) -> None:
        super().__init__(id=id)
        self._said = tuple(said)
        self._by_word = by_word
        self._rows: list[Said] = []
        self._rows_width = 0
        self._is_new = True

    def say(self, said: Sequence[Said]) -> None:
        """Other lines; `lay_out` comes after it."""
        self._said = tuple(said)
        self._rows_width = 0

    def rows_at(self, width: int) -> int:
        """How many rows the text takes at a width."""
        if width != self._rows_width:
            self._rows = [row for said in self._said for row in self._wrapped(said, max(4, width))]
            self._rows_width = width
            self._is_new = True
        return len(self._rows)

    def lay_out(self, width: int) -> None:
        """Wrap for a width, which must be that of the widget without its scrollbar."""
        self.virtual_size = Size(width, self.rows_at(width))
        if self._is_new:
            self._is_new = False
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """Paint screen line `y`."""
        place = y + int(self.scroll_offset.y)
        if place >= len(self._rows):
            return Strip.blank(self.size.width, self.rich_style)
        text, name, _ = self._rows[place]
        style = self.rich_style
        if name:
            style += style_of(self.app, _LOOKS[name])
        return Strip([Segment(text, style)]).adjust_cell_length(self.size.width, self.rich_style)

    def _wrapped(self, said: Said, width: int) -> Iterator[Said]:
        text, style, indent = said
        starts = row_starts if self._by_word or indent or style == "label" else wrap_places
        places = [*starts(text, width), len(text)]
        if indent and len(places) > 2:
            indent = indent if indent * 2 <= width else _LEAST_INDENT
            rest = places[1]
            places = [0, rest, *(rest + place for place in starts(text[rest:], width - indent)[1:]), len(text)]
        for first, end in pairwise(places):
            yield Said(f"{' ' * indent if first else ''}{text[first:end]}", style)
