"""The text of the pager: any number of rows; only the visible ones are painted."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size
from textual.strip import Strip

from workbench.tui.widgets.line_list import LineList
from workbench.view.formatting.half_blocks import Cell, Picture, lightness, sign
from workbench.view.wrapping import MOST_MATCHES, Line, Piece, WrappedRow, WrappedText


class TextLines(LineList):
    """A wrapped text that scrolls; it has no cursor, and keys move the text."""

    def __init__(self, text: str, *, headings: bool = False, id: str | None = None) -> None:
        """With `headings`, lines in capitals that are not indented are highlighted."""
        super().__init__(id=id)
        self.styles_of_lines: Mapping[int, str] = {}
        self.set_reactive(LineList.cursor, -1)
        self._headings = headings
        self._text, self._match = WrappedText(text), -1

    def on_resize(self) -> None:
        """Wrap for the new width, keeping the same line at the top."""
        top = self.scroll_offset.y
        first = self._text.rows[top] if top < len(self._text.rows) else None
        self._text.wrap(max(2, self.size.width - 2))  # without the cursor's column and the scrollbar
        self.set_count(len(self._text.rows))
        self.forget()
        if first is not None:
            self.scroll_to(y=self._text.row_of(first.line, first.start), animate=False, force=True)

    def replace(self, text: str) -> None:
        """Show another text at the same position; styles and the marks of a search are removed."""
        top = self.scroll_offset.y
        self._text, self._match, self.styles_of_lines = WrappedText(text), -1, {}
        self.on_resize()
        self._scroll(top)

    def set_count(self, count: int) -> None:
        """Set the number of rows, without following the end."""
        self.count = count
        self.virtual_size = Size(self.size.width, count)

    def line(self, index: int, width: int) -> Line:
        """Return one row, with its matches marked."""
        pieces = self._text.pieces(index, self._match)
        style = self.styles_of_lines.get(self._text.rows[index].line, "")
        if self._headings and pieces[0].text[:1].isupper() and "".join(piece.text for piece in pieces).isupper():
            style = "heading"
        return [Piece(piece.text, piece.style or style) for piece in pieces]

    def search(self, needle: str) -> None:
        """Mark all matches and go to the first one at or below the top of the screen."""
        self._text.find(needle)
        top = self.scroll_offset.y
        rows = (self._text.row_of(line, start) for line, start, _ in self._text.matches)
        self._match = next((index for index, row in enumerate(rows) if row >= top), 0) - 1
        self.go_to_match(1)

    def go_to_match(self, by: int) -> None:
        """Go to the next or previous match, wrapping around at both ends."""
        matches = self._text.matches
        self._match = (self._match + by) % len(matches) if matches else -1
        self.forget()
        if matches:
            line, start, _ = matches[self._match]
            self.move_to(self._text.row_of(line, start))

    def position(self) -> str:
        """Return the text about the position: the number of the current match, or the number of lines."""
        count = len(self._text.matches)
        more = "+" if count >= MOST_MATCHES else ""
        return f"{self._match + 1} of {count}{more}" if count else f"{len(self._text.lines)} lines"

    def first_line_in_sight(self) -> int:
        """Return the line of the text at the top of the screen, counted from 0."""
        rows = self._text.rows
        return rows[min(self.scroll_offset.y, len(rows) - 1)].line if rows else 0

    def move_to(self, index: int) -> None:
        """Bring a row into view, a third from the top."""
        top, height = self.scroll_offset.y, self.size.height
        if not top <= index < top + height:
            self._scroll(index - height // 3)

    def action_move(self, by: int) -> None:
        """Scroll by lines."""
        self._scroll(self.scroll_offset.y + by)

    def action_page(self, by: int) -> None:
        """Scroll by screenfuls."""
        self._scroll(self.scroll_offset.y + by * max(1, self.size.height - 1))

    def _scroll(self, top: int) -> None:
        self.scroll_to(y=max(0, min(top, self.max_scroll_y)), animate=False, force=True)


_INDENT: Final = 3
_MOST_ROWS: Final = 40


class IllustratedText(WrappedText):
    """Lines with a picture of half blocks below some of them."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.pictures: Mapping[int, Picture] = {}
        self.cells: dict[int, Sequence[Cell]] = {}
        """The cells of each row that is part of a picture, by row."""

    def wrap(self, width: int) -> None:
        """Lay out the text and its pictures for a width."""
        if width == self._width:
            return
        super().wrap(width)
        rows, self.cells = self.rows, {}
        self.rows = []
        for number, row in enumerate(rows):
            self.rows.append(row)
            is_last = number + 1 == len(rows) or rows[number + 1].line != row.line
            picture = self.pictures.get(row.line) if is_last else None
            for cells in picture.rows(width - 2 * _INDENT, _MOST_ROWS) if picture else ():
                self.cells[len(self.rows)] = cells
                self.rows.append(WrappedRow(row.line, row.end, row.end))

    def background(self, row: int) -> float:
        """Return the lightness of the first cell of the picture to which a row belongs."""
        while row - 1 in self.cells:
            row -= 1
        return lightness(self.cells[row][0])

    def illustrate(self, pictures: Mapping[int, Picture]) -> None:
        """Put each picture below its line."""
        self.pictures = pictures
        width, self._width = self._width, 0
        if width:
            self.wrap(width)


class IllustratedLines(TextLines):
    """A text that decodes its pictures (base64, by line) in a thread, and shows them once they are decoded."""

    def __init__(
        self, text: str, pictures: Mapping[int, str], *, headings: bool = False, id: str | None = None
    ) -> None:
        super().__init__(text, headings=headings, id=id)
        self._illustrated = IllustratedText(text)
        self._text = self._illustrated
        self._encoded = pictures

    def on_mount(self) -> None:
        """Start decoding."""
        self.run_worker(self._illustrate())

    async def _illustrate(self) -> None:
        self._illustrated.illustrate(await asyncio.to_thread(_decode, self._encoded))
        self.set_count(len(self._illustrated.rows))
        self.forget()

    @property
    def is_illustrated(self) -> bool:
        """Whether the pictures are shown."""
        return bool(self._illustrated.pictures)

    def _paint(self, index: int, width: int, mark: str, base: Style) -> Strip:
        cells = self._illustrated.cells.get(index)
        if cells is None:
            return super()._paint(index, width, mark, base)
        terminal = getattr(self.app, "terminal", None)
        is_plain = self.app.no_color or (terminal is not None and terminal.is_ascii)
        background = self._illustrated.background(index) if is_plain else None
        return _cell_strip(cells, background, base).adjust_cell_length(width, base)


def _cell_strip(cells: Sequence[Cell], background: float | None, base: Style) -> Strip:
    """Paint a row of cells; if the lightness of a background is given, paint characters without colors."""
    if background is not None:
        segments = [Segment("".join(sign(cell, background) for cell in cells), base)]
    else:
        segments = [Segment("▀", Style(color=_color(cell.top), bgcolor=_color(cell.bottom))) for cell in cells]
    return Strip([Segment(" " * _INDENT, base), *segments])


def _decode(pictures: Mapping[int, str]) -> dict[int, Picture]:
    return {line: Picture(data) for line, data in pictures.items()}


def _color(rgb: tuple[int, int, int]) -> Color:
    return Color.from_rgb(*rgb)
