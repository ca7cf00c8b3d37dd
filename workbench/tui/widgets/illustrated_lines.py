"""The text of the pager with pictures below their lines; used by the page of an action that has some."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from workbench.tui.widgets.text_lines import TextLines
from workbench.view.formatting.half_blocks import Cell, Picture, lightness, sign
from workbench.view.formatting.wrapping import Row, WrappedText

_LEFT = 3
_MOST_ROWS = 40


class IllustratedText(WrappedText):
    """Lines of which some have rows of cells below them."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.below: Mapping[int, Picture] = {}
        self.cells: dict[int, Sequence[Cell]] = {}
        """Row -> its cells."""

    def wrap(self, width: int) -> None:
        """Lay out for a width, the pictures too."""
        if width == self._width:
            return
        super().wrap(width)
        rows, self.cells = self.rows, {}
        self.rows = []
        for number, row in enumerate(rows):
            self.rows.append(row)
            is_last = number + 1 == len(rows) or rows[number + 1].line != row.line
            picture = self.below.get(row.line) if is_last else None
            for cells in picture.rows(width - 2 * _LEFT, _MOST_ROWS) if picture else ():
                self.cells[len(self.rows)] = cells
                self.rows.append(Row(row.line, row.end, row.end))

    def ground(self, row: int) -> float:
        """How light the corner of the picture is to which a row of cells belongs."""
        while row - 1 in self.cells:
            row -= 1
        return lightness(self.cells[row][0])

    def illustrate(self, below: Mapping[int, Picture]) -> None:
        """Put each picture below its line."""
        self.below = below
        width, self._width = self._width, 0
        if width:
            self.wrap(width)


class IllustratedLines(TextLines):
    """Decodes the pictures (base64, by the line they belong to) in a thread, and shows them when they are there."""

    def __init__(
        self, text: str, pictures: Mapping[int, str], *, headings: bool = False, id: str | None = None
    ) -> None:
        super().__init__(text, headings=headings, id=id)
        self._illustrated = IllustratedText(text)
        self._text = self._illustrated
        self._pictures = pictures

    def on_mount(self) -> None:
        """Begin with the pictures."""
        self.run_worker(self._illustrate())

    async def _illustrate(self) -> None:
        found = await asyncio.to_thread(_decoded, self._pictures)
        self._illustrated.illustrate(found)
        self.set_count(len(self._illustrated.rows))
        self.forget()

    @property
    def is_illustrated(self) -> bool:
        """Whether the pictures are there."""
        return bool(self._illustrated.below)

    def _paint(self, index: int, width: int, mark: str, base: Style) -> Strip:
        cells = self._illustrated.cells.get(index)
        if cells is None:
            return super()._paint(index, width, mark, base)
        is_plain = bool(getattr(self.app, "sign_filters", list)()) or self.app.no_color
        if is_plain:
            segments = [Segment("".join(sign(cell, self._illustrated.ground(index)) for cell in cells), base)]
        else:
            segments = [Segment("▀", Style(color=_colour(cell.top), bgcolor=_colour(cell.bottom))) for cell in cells]
        return Strip([Segment(" " * _LEFT, base), *segments]).adjust_cell_length(width, base)


def _decoded(pictures: Mapping[int, str]) -> dict[int, Picture]:
    return {line: Picture(data) for line, data in pictures.items()}


def _colour(rgb: tuple[int, int, int]) -> Color:
    return Color.from_rgb(*rgb)
