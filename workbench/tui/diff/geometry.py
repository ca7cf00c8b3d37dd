"""Where the rows of a diff lie on the screen: gutter, columns, wrapped lines, hunks. Pure; made anew for each width."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from workbench.text import visible
from workbench.tui.diff.document import Document
from workbench.tui.diff.layout import FoldId, Row, Side, with_comments
from workbench.tui.diff.lines import wrap_places
from workbench.tui.diff.marks import LineId
from workbench.tui.wording.word_wrap import wrapped

NARROW = 60
LONGEST = 4_000
"""Signs of a line shown without wrapping; the rest is there when lines wrap."""


@dataclass(frozen=True)
class Look:
    """How a diff is shown: cells to paint in, one or two columns, long lines wrapped or scrolled."""

    width: int
    beside: bool
    wrapped: bool


class Geometry:
    """The rows of a document in one look."""

    def __init__(
        self,
        document: Document,
        look: Look,
        opened: Collection[FoldId] = (),
        comments: Mapping[LineId, str] | None = None,
    ) -> None:
        self.document = document
        self.look = look
        rows = document.rows(opened, beside=look.beside)
        digits = len(str(max(1, document.most_lines)))
        self.digits = digits
        self.numbers = 1 if look.beside or look.width < NARROW else 2
        gutter = 1 + self.numbers * (digits + 1) + 2
        column = (look.width - 1) // 2 if look.beside else look.width
        self.column = column
        self.text_width = max(4, column - gutter)
        self.comments = {
            line: wrapped(visible(text), max(10, look.width - gutter - 4)) for line, text in (comments or {}).items()
        }
        heights = {line: len(lines) for line, lines in self.comments.items()}
        self.rows = with_comments(rows, heights) if heights else rows
        widest = document.widest()
        self._starts = self._row_starts() if look.wrapped and widest > self.text_width else None
        self.overhang = 0 if look.wrapped else max(0, min(widest, LONGEST + 1) - self.text_width)

    @cached_property
    def _hunk_tops(self) -> list[int]:
        """The first row of each hunk."""
        return _hunk_tops(self.rows)

    @property
    def height(self) -> int:
        """Screen lines of everything."""
        return self._starts[-1] if self._starts else len(self.rows)

    @property
    def hunk_count(self) -> int:
        """How many hunks there are."""
        return len(self._hunk_tops)

    def at(self, y: int) -> tuple[int, int]:
        """The row on screen line `y`, and which of its wrapped parts."""
        if self._starts is None:
            return y, 0
        row = bisect_right(self._starts, y) - 1
        return row, y - self._starts[row]

    def top_of(self, row: int) -> int:
        """The screen line a row begins at."""
        return self._starts[row] if self._starts else row

    def hunk_row(self, hunk: int) -> int:
        """The first row of a hunk (counted over all files)."""
        return self._hunk_tops[hunk]

    def hunk_at(self, row: int) -> int:
        """The hunk a row belongs to, counted over all files; -1 for an unchanged row."""
        return bisect_right(self._hunk_tops, row) - 1 if self.rows[row].hunk >= 0 else -1

    def hunk_from(self, row: int) -> int:
        """The first hunk that begins at a row or below it (the count of hunks when there is none)."""
        return bisect_left(self._hunk_tops, row)

    def folds_around(self, hunk: int) -> list[FoldId]:
        """The folds directly above and below a hunk."""
        row = self.hunk_row(hunk)
        above = self._hunk_tops[hunk - 1] if hunk else 0
        below = self._hunk_tops[hunk + 1] if hunk + 1 < self.hunk_count else len(self.rows)
        return [(at.file, at.old) for at in (*self.rows[above:row], *self.rows[row:below]) if at.kind == "fold"]

    def row_of(self, line: LineId) -> int:
        """The row of a line; of an unchanged line that is folded away the fold, of any other -1."""
        file, side, number = line
        for index, row in enumerate(self.rows):
            at = row.old if side == "old" else row.new
            if row.file == file and at >= 0 and at <= number < at + max(1, row.size if row.kind == "fold" else 1):
                return index
        return -1

    def lines_from(self, row: int) -> tuple[int, int]:
        """The first old and the first new line at a row or below it; past the last where there is none."""
        rows, past = self.rows[max(0, row) :], self.document.most_lines
        old = next((found.old for found in rows if found.old >= 0), past)
        return old, next((found.new for found in rows if found.new >= 0), past)

    def wraps(self, row: Row, side: Side) -> list[int]:
        """Where the painted parts of one side of a row begin."""
        line = row.old if side == "old" else row.new
        if line < 0 or row.kind in ("file", "fold", "no-newline", "remark"):
            return [0]
        if self.document.cells(row.file, side)[line] <= self.text_width:
            return [0]
        return wrap_places(self.document.painted(row.file, side, line).text, self.text_width)

    def _row_starts(self) -> list[int]:
        return [0, *accumulate(self._row_height(row) for row in self.rows)]

    def _row_height(self, row: Row) -> int:
        if row.kind == "changed":
            return max(len(self.wraps(row, "old")), len(self.wraps(row, "new")))
        return len(self.wraps(row, "old" if row.kind == "removed" else "new"))


def _hunk_tops(rows: list[Row]) -> list[int]:
    tops = []
    file = hunk = -1
    for index, row in enumerate(rows):
        if row.hunk >= 0 and (row.hunk != hunk or row.file != file):
            file, hunk = row.file, row.hunk
            tops.append(index)
    return tops
