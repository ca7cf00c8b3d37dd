"""A long text cut into rows of a width, and the places in it that match a search. Pure; the pager paints it."""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import pairwise
from typing import Final, NamedTuple

from workbench.text import visible
from workbench.tui.wording.pieces import Line, Piece
from workbench.tui.wording.word_wrap import row_starts

MOST_MATCHES: Final = 10_000


class Row(NamedTuple):
    """One row of the screen: which line it belongs to, and from which character to which."""

    line: int
    start: int
    end: int


class WrappedText:
    """Lines that are safe to show, wrapped; each width is laid out once."""

    def __init__(self, text: str) -> None:
        self.lines = [line.expandtabs(8) for line in visible(text).split("\n")]
        self.rows: list[Row] = []
        self.matches: list[tuple[int, int, int]] = []
        """Line, first and last character of each match, in order."""
        self._width = 0

    def wrap(self, width: int) -> None:
        """Lay out for a width in cells."""
        if width == self._width:
            return
        self._width = width
        self.rows = []
        for number, line in enumerate(self.lines):
            if len(line) <= width and line.isascii():
                self.rows.append(Row(number, 0, len(line)))
            else:
                self._wrap_line(number, line, max(2, width))

    def _wrap_line(self, number: int, line: str, width: int) -> None:
        starts = row_starts(line, width)
        self.rows.extend(Row(number, start, end) for start, end in pairwise([*starts, len(line)]))

    def find(self, needle: str) -> None:
        """Note all places of `needle`, regardless of case."""
        self.matches = []
        if not needle:
            return
        pattern = re.compile(re.escape(needle), re.IGNORECASE)
        for number, line in enumerate(self.lines):
            self.matches.extend((number, match.start(), match.end()) for match in pattern.finditer(line))
            if len(self.matches) >= MOST_MATCHES:
                return

    def row_of(self, line: int, column: int) -> int:
        """The row that shows a character of a line."""
        at = bisect_left(self.rows, Row(line, column + 1, 0)) - 1
        return max(0, at)

    def pieces(self, row: int, current: int) -> Line:
        """A row with its matches marked; `current` is the index of the match the person stands on."""
        line, start, end = self.rows[row]
        text = self.lines[line]
        pieces: Line = []
        at = start
        first = bisect_left(self.matches, (line, 0, 0))
        for index in range(first, len(self.matches)):
            number, begin, stop = self.matches[index]
            if number != line or begin >= end:
                break
            begin, stop = max(begin, at), min(stop, end)
            if stop > begin:
                pieces += [Piece(text[at:begin]), Piece(text[begin:stop], "match-now" if index == current else "match")]
                at = stop
        return [*pieces, Piece(text[at:end])]
