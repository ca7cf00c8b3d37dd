"""Text fitted to a width: clips, pads, wraps and searches lines, counts changed lines, and splits Markdown."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

from rich.cells import cell_len, get_character_cell_size, set_cell_size

from workbench.diff.hunks import changed_lines
from workbench.lazy_pattern import lazy_pattern
from workbench.text import visible

_EXACT_UP_TO = 4_000_000
"""The product of old and new lines above which lines are counted without regard to their order."""


@lru_cache(maxsize=512)
def count_lines(before: str | None, after: str | None) -> tuple[int, int]:
    """Return how many lines were added and removed; None means that the file does not exist."""
    old, new = trim_common(*changed_lines(before, after))[:2]
    if not old or not new:
        return len(new), len(old)
    if len(old) * len(new) > _EXACT_UP_TO:
        return (Counter(new) - Counter(old)).total(), (Counter(old) - Counter(new)).total()
    same = sum(block.size for block in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks())
    return len(new) - same, len(old) - same


def trim_common(old: Sequence[str], new: Sequence[str]) -> tuple[Sequence[str], Sequence[str], int]:
    """Return both lists without the lines they share at the start and end, and the number they share at the start."""
    shortest = min(len(old), len(new))
    start = next((at for at in range(shortest) if old[at] != new[at]), shortest)
    end = next((at for at in range(shortest - start) if old[-1 - at] != new[-1 - at]), shortest - start)
    return old[start : len(old) - end], new[start : len(new) - end], start


class Piece(NamedTuple):
    """Text that is safe to show, on one line, and the name of its style ("" for plain)."""

    text: str
    style: str = ""


Line: TypeAlias = list[Piece]


def clip(text: str, width: int) -> str:
    """Return at most `width` cells of the text, with an ellipsis if something was cut."""
    if width <= 0:
        return ""
    head = text[: width + 1]  # enough: nearly every character fills a cell, and others belong to the one before
    if len(head) == len(text) and cell_len(text) <= width:
        return text
    return set_cell_size(head, width - 1).rstrip() + "…"


def pad(text: str, width: int, *, right: bool = False) -> str:
    """Return exactly `width` cells: clipped, or padded with spaces (on the left if `right`)."""
    text = clip(text, width)
    blanks = " " * max(0, width - cell_len(text))
    return blanks + text if right else text + blanks


def line_width(line: Line) -> int:
    """Return the width of a whole line in cells."""
    return sum(cell_len(piece.text) for piece in line)


def spread(left: Line, right: Line, width: int) -> Line:
    """Return a line of `width` cells: `left` clipped, spaces, `right`; a very narrow line has no `right`."""
    need = line_width(right)
    if need + 8 > width:
        right, need = [], 0
    available = width - need - (1 if need else 0)
    fitted: Line = []
    for piece in left:
        text = clip(piece.text, available)
        fitted.append(Piece(text, piece.style))
        available -= cell_len(text)
    return [*fitted, Piece(" " * (available + (1 if need else 0))), *right]


def row_starts(line: str, width: int) -> list[int]:
    """Return the start of each row of at most `width` cells: after a space, or inside a word too long for one row.

    The spaces at a cut stay at the end of their row, so joining the rows restores the line.
    """
    width = max(2, width)
    starts = [0]
    while True:
        end = _row_end(line, starts[-1], width)
        if end >= len(line):
            return starts
        space = line.rfind(" ", starts[-1], end)
        has_word = bool(line[starts[-1] : space + 1].strip())
        starts.append(space + 1 if has_word and _fits(line, space + 1, width) else end)


def _fits(line: str, start: int, width: int) -> bool:
    """Return whether the word that begins at `start` fits into one row."""
    end = line.find(" ", start, start + width + 1)
    return _row_end(line, start, width) >= (len(line) if end < 0 else end)


def _row_end(line: str, start: int, width: int) -> int:
    """Return the index of the first character that does not fit into a row beginning at `start`."""
    if line.isascii():
        return start + width
    cells = 0
    for at in range(start, len(line)):
        cells += get_character_cell_size(line[at])
        if cells > width:
            return at
    return len(line)


def wrapped(text: str, width: int) -> list[str]:
    """Wrap a text of one or more lines and return its rows."""
    return [
        line[start:end] for line in text.split("\n") for start, end in pairwise([*row_starts(line, width), len(line)])
    ]


MOST_MATCHES: Final = 10_000


class WrappedRow(NamedTuple):
    """One row of the screen: the index of its line, and its first character and end in that line."""

    line: int
    start: int
    end: int


class WrappedText:
    """Lines that are safe to show, wrapped to a width; the same width is not laid out twice in a row.

    The rows of an indented line have its indentation, unless it takes more than half of the width.
    """

    def __init__(self, text: str) -> None:
        self.lines = [line.expandtabs(8) for line in visible(text).split("\n")]
        self.rows: list[WrappedRow] = []
        self.matches: list[tuple[int, int, int]] = []
        """The line, start and end of each match, in order."""
        self._width = 0

    def wrap(self, width: int) -> None:
        """Wrap the lines to a width in cells."""
        if width == self._width:
            return
        self._width = width
        self.rows = []
        for number, line in enumerate(self.lines):
            if len(line) <= width and line.isascii():
                self.rows.append(WrappedRow(number, 0, len(line)))
            else:
                self._wrap_line(number, line, max(2, width))

    def _wrap_line(self, number: int, line: str, width: int) -> None:
        starts, indent = row_starts(line, width), self._indent(line)
        if indent and len(starts) > 1:
            rest = starts[1]
            starts = [0, rest, *(rest + start for start in row_starts(line[rest:], width - indent)[1:])]
        self.rows.extend(WrappedRow(number, start, end) for start, end in pairwise([*starts, len(line)]))

    def _indent(self, line: str) -> int:
        """Return the spaces before each row of a line but its first one."""
        spaces = len(line) - len(line.lstrip(" "))
        return spaces if spaces * 2 <= self._width else 0

    def find(self, needle: str) -> None:
        """Find the matches of `needle`, ignoring case, and keep them in `matches`; stop after about MOST_MATCHES."""
        self.matches = []
        if not needle:
            return
        pattern = re.compile(re.escape(needle), re.IGNORECASE)
        for number, line in enumerate(self.lines):
            self.matches.extend((number, match.start(), match.end()) for match in pattern.finditer(line))
            if len(self.matches) >= MOST_MATCHES:
                return

    def row_of(self, line: int, column: int) -> int:
        """Return the row that shows a character of a line."""
        at = bisect_left(self.rows, WrappedRow(line, column + 1, 0)) - 1
        return max(0, at)

    def pieces(self, row: int, current: int) -> Line:
        """Return a row with its matches marked; `current` is the index of the current match."""
        line, start, end = self.rows[row]
        text = self.lines[line]
        pieces: Line = [Piece(" " * self._indent(text))] if start else []
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


_OPEN_FENCE = lazy_pattern(r" {0,3}(`{3,}|~{3,})")


class MarkdownCut:
    """Splits streaming Markdown into finished blocks (`pop_finished`) and the rest, which may still grow (`tail`)."""

    def __init__(self) -> None:
        self._text = ""
        self._looked = 0
        self._settled = 0
        self._fence = ""

    @property
    def tail(self) -> str:
        """The text after the last cut."""
        return self._text[self._settled :]

    def feed(self, text: str) -> None:
        """Add more of the stream."""
        self._text = self.tail + text
        self._looked -= self._settled
        self._settled = 0

    def pop_finished(self) -> str:
        """Return the blocks that were completed since the last call."""
        cut = self._settled
        while (end := self._text.find("\n", self._looked)) >= 0:
            line = self._text[self._looked : end]
            self._looked = end + 1
            self._see(line)
            if not self._fence and not line.strip():
                cut = self._looked
        piece, self._settled = self._text[self._settled : cut], cut
        return piece

    def _see(self, line: str) -> None:
        match = _OPEN_FENCE.match(line)
        if match is None:
            return
        mark = match.group(1)
        if not self._fence:
            self._fence = mark
        elif mark.startswith(self._fence) and not line.strip().strip(mark[0]):
            self._fence = ""


_FENCE = lazy_pattern(r" {0,3}(`{3,}|~{3,})([^`]*)$")


def code_blocks(text: str) -> list[str]:
    """Return the text of each fenced block, in order; an unclosed block extends to the end of the text."""
    blocks: list[str] = []
    fence, lines = "", list[str]()
    for line in text.splitlines():
        match = _FENCE.match(line)
        if fence and match and match[1].startswith(fence) and not match[2].strip():
            blocks.append("\n".join(lines))
            fence, lines = "", []
        elif fence:
            lines.append(line)
        elif match:
            fence = match[1]
    return [*blocks, "\n".join(lines)] if fence else blocks
