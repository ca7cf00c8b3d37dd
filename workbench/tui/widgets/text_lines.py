"""The text of the pager: as many rows as you like, only those in sight are painted."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size
from textual.strip import Strip

from workbench.tui.widgets.line_list import LineList
from workbench.view.formatting.half_blocks import Cell, Picture, lightness, sign
from workbench.view.formatting.wrapping import MOST_MATCHES, Line, Piece, Row, WrappedText


class TextLines(LineList):
    """A wrapped text that scrolls; the cursor is not shown, keys move the text."""

    def __init__(self, text: str, *, headings: bool = False, id: str | None = None) -> None:
        """With `headings` lines in capitals that are not indented stand out."""
        super().__init__(id=id)
        self._headings = headings
        self._text = WrappedText(text)
        self._current = -1

    def on_resize(self) -> None:
        """Wrap for the new width; the same line stays at the top."""
        top = self.scroll_offset.y
        seen = self._text.rows[top] if top < len(self._text.rows) else None
        self._text.wrap(max(2, self.size.width - 2))  # beside the cursor's place and the scrollbar's
        self.set_count(len(self._text.rows))
        self.forget()
        if seen is not None:
            self.scroll_to(y=self._text.row_of(seen.line, seen.start), animate=False, force=True)

    def line(self, index: int, width: int) -> Line:
        """One row, with its matches."""
        pieces = self._text.pieces(index, self._current)
        if self._headings and pieces[0].text[:1].isupper() and "".join(piece.text for piece in pieces).isupper():
            return [Piece(piece.text, piece.style or "heading") for piece in pieces]
        return pieces

    def search(self, needle: str) -> None:
        """Mark all places and go to the first one from the top of the screen on."""
        self._text.find(needle)
        top = self.scroll_offset.y
        rows = (self._text.row_of(line, start) for line, start, _ in self._text.matches)
        self._current = next((index for index, row in enumerate(rows) if row >= top), 0) - 1
        self.go_to_match(1)

    def go_to_match(self, by: int) -> None:
        """The next or previous match, around the ends."""
        matches = self._text.matches
        self._current = (self._current + by) % len(matches) if matches else -1
        self.forget()
        if matches:
            line, start, _ = matches[self._current]
            self._show_row(self._text.row_of(line, start))

    def position(self) -> str:
        """Where one is: the match, or how many lines there are."""
        count = len(self._text.matches)
        if count:
            more = "+" if count >= MOST_MATCHES else ""
            return f"{self._current + 1} of {count}{more}"
        return f"{len(self._text.lines)} lines"

    def first_line_in_sight(self) -> int:
        """The line of the text at the top of the screen, counted from 0."""
        rows = self._text.rows
        return rows[min(self.scroll_offset.y, len(rows) - 1)].line if rows else 0

    def action_move(self, by: int) -> None:
        """Scroll by lines."""
        self._scroll(self.scroll_offset.y + by)

    def action_page(self, by: int) -> None:
        """Scroll by screenfuls."""
        self._scroll(self.scroll_offset.y + by * max(1, self.size.height - 1))

    def action_first(self) -> None:
        """To the top."""
        self._scroll(0)

    def action_last(self) -> None:
        """To the end."""
        self._scroll(self._count)

    def _show_row(self, row: int) -> None:
        top, height = self.scroll_offset.y, self.size.height
        if not top <= row < top + height:
            self._scroll(row - height // 3)

    def _scroll(self, to: int) -> None:
        self.scroll_to(y=max(0, min(to, self.max_scroll_y)), animate=False, force=True)

    def _paint(self, index: int, width: int, mark: str, base: Style) -> Strip:
        return super()._paint(index, width, "", base)

    def set_count(self, count: int) -> None:
        """So many rows; nothing is followed."""
        self._count = count
        self.virtual_size = Size(self.size.width, count)


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
