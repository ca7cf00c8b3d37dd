"""Tables in Markdown: every word of every cell is shown, at any width, in one widget.

A table that is too wide wraps its cells; where not even the longest words fit, each row becomes a block of lines, one
for each cell with the name of its column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Final, Literal, TypeAlias, cast

from textual.app import ComposeResult
from textual.content import Content
from textual.visual import VisualType
from textual.widgets import Static

from workbench.tui.textual_seam.markdown import TableBlock

Align: TypeAlias = Literal["left", "center", "right"]
_GAP: Final = 2
"""Cells between two columns."""
_WHOLE_WORD: Final = 16
"""The longest word, in cells, that a column is never too narrow for; a longer one may be broken."""
_EMPTY: Final = Content("")


@dataclass(frozen=True)
class TableLayout:
    """The cells of a table; every row has as many as there are headers."""

    headers: Sequence[Content]
    rows: Sequence[Sequence[Content]]
    aligns: Sequence[Align] = field(default=())

    def lines(self, width: int) -> list[Content]:
        """Return the lines of the table, of at most `width` cells."""
        widths = self._widths(max(2, width))
        return list(self._blocks(max(2, width)) if widths is None else self._grid(widths))

    def _widths(self, width: int) -> list[int] | None:
        """Return the width of each column, or None if the words do not fit side by side."""
        columns = list(zip(self.headers, *self.rows, strict=True))
        natural = [max(1, *(cell.cell_length for cell in column)) for column in columns]
        least = [max(1, min(_WHOLE_WORD, max(map(_longest_word, column)))) for column in columns]
        available = width - _GAP * (len(columns) - 1)
        if sum(natural) <= available:
            return natural
        return _shared_out(natural, least, available) if sum(least) <= available else None

    def _grid(self, widths: Sequence[int]) -> Iterator[Content]:
        yield from self._row([header.stylize("bold") for header in self.headers], widths)
        yield Content.styled("─" * (sum(widths) + _GAP * (len(widths) - 1)), "$dim")
        has_wrapped = False
        for number, row in enumerate(self.rows):
            lines = list(self._row(row, widths))
            if number and (has_wrapped or len(lines) > 1):
                yield _EMPTY
            has_wrapped = len(lines) > 1
            yield from lines

    def _row(self, cells: Sequence[Content], widths: Sequence[int]) -> Iterator[Content]:
        missing: list[Align] = ["left"] * len(cells)
        aligns = [*self.aligns, *missing]
        wrapped = [cell.wrap(width) for cell, width in zip(cells, widths, strict=True)]
        for parts in zip_longest(*wrapped, fillvalue=_EMPTY):
            line = [_aligned(*each) for each in zip(parts, widths, aligns, strict=False)]
            yield Content(" " * _GAP).join(line).rstrip()

    def _blocks(self, width: int) -> Iterator[Content]:
        """Yield a block for each row: `Name: cell`, wrapped, with a blank line between two rows."""
        for number, row in enumerate(self.rows or [[_EMPTY] * len(self.headers)]):
            if number:
                yield _EMPTY
            for header, cell in zip(self.headers, row, strict=True):
                name = Content.assemble(header.stylize("bold"), ": ") if header.plain.strip() else _EMPTY
                yield from (line.rstrip() for line in Content.assemble(name, cell).wrap(width))


def _longest_word(cell: Content) -> int:
    return max((Content(word).cell_length for word in cell.plain.split()), default=0)


def _shared_out(natural: Sequence[int], least: Sequence[int], available: int) -> list[int]:
    """Return widths that fill the available cells: each column gets its least, and more in turn until it is full."""
    widths = list(least)
    remaining = available - sum(widths)
    while remaining > 0:
        narrow = [at for at, width in enumerate(widths) if width < natural[at]]
        if not narrow:
            break
        share = max(1, remaining // len(narrow))
        for at in narrow:
            more = min(share, natural[at] - widths[at], remaining)
            widths[at] += more
            remaining -= more
    return widths


def _aligned(cell: Content, width: int, align: Align) -> Content:
    cell = cell.rstrip()
    blanks = max(0, width - cell.cell_length)
    before = {"left": 0, "center": blanks // 2, "right": blanks}[align]
    return Content.assemble(" " * before, cell, " " * (blanks - before))


class TableText(Static):
    """The lines of one table, fitted to its width."""

    def __init__(self, table: TableLayout) -> None:
        super().__init__()
        self.table = table

    def on_resize(self) -> None:
        """Fit the lines to the new width."""
        self.update(self._fitted())

    def render(self) -> VisualType:
        """Return the lines for the current width."""
        return self._fitted()

    def _fitted(self) -> Content:
        return Content("\n").join(self.table.lines(self.size.width or self.app.size.width))


class MarkdownTable(TableBlock):
    """A table in a Markdown text."""

    DEFAULT_CSS = """
    MarkdownTable { width: 1fr; height: auto; margin: 0 0 1 0; }
    MarkdownTable > TableText { height: auto; }
    """

    def compose(self) -> ComposeResult:
        """Yield the whole table as one widget."""
        headers, rows, aligns = self.cells()
        yield TableText(TableLayout(headers, rows, cast("Sequence[Align]", aligns)))
