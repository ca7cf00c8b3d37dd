"""Where a line is cut so that words stay whole. Used by the pager and by comments in a diff."""

from __future__ import annotations

from itertools import pairwise

from rich.cells import get_character_cell_size


def row_starts(line: str, width: int) -> list[int]:
    """Where each row of at most `width` cells begins: behind a blank, or inside a word that has no room in one row.

    The blanks at a cut stay at the end of their row, so that joining the rows gives the line back.
    """
    width = max(2, width)
    starts = [0]
    while True:
        end = _room(line, starts[-1], width)
        if end >= len(line):
            return starts
        blank = line.rfind(" ", starts[-1], end)
        has_word = bool(line[starts[-1] : blank + 1].strip())
        starts.append(blank + 1 if has_word and _fits(line, blank + 1, width) else end)


def _fits(line: str, start: int, width: int) -> bool:
    """Whether the word that begins there has room in a row."""
    end = line.find(" ", start, start + width + 1)
    return _room(line, start, width) >= (len(line) if end < 0 else end)


def _room(line: str, start: int, width: int) -> int:
    """The first sign that does not fit into a row that begins at `start`."""
    if line.isascii():
        return start + width
    cells = 0
    for at in range(start, len(line)):
        cells += get_character_cell_size(line[at])
        if cells > width:
            return at
    return len(line)


def wrapped(text: str, width: int) -> list[str]:
    """The rows of a text of one or more lines."""
    return [
        line[start:end] for line in text.split("\n") for start, end in pairwise([*row_starts(line, width), len(line)])
    ]
