"""The layout of a diff on the screen: gutter, columns, wrapped lines and hunks; computed for each width."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import accumulate

from workbench.text import visible
from workbench.view.diff.document import DEFAULT_FOLDS, DiffDocument, Folds, with_comments
from workbench.view.diff.lines import wrap_offsets
from workbench.view.diff.rows import DiffRow, FoldId, LineId, Side
from workbench.view.wrapping import wrapped

NARROW = 60
_ONE_LINE = ("file", "fold", "no-newline", "remark", "skipped")
LONGEST = 4_000
"""The most characters of a line shown without wrapping; wrapping shows all."""


@dataclass(frozen=True)
class LayoutOptions:
    """How a diff is shown: width in cells, one or two columns, long lines wrapped or scrolled."""

    width: int
    beside: bool
    wrapped: bool
    numbered: bool = False
    """Whether a column at the left has the number and the state of each hunk."""
    folds: Folds = DEFAULT_FOLDS


class Geometry:
    """The rows of a document in one layout."""

    def __init__(
        self,
        document: DiffDocument,
        options: LayoutOptions,
        opened: Collection[FoldId] = (),
        comments: Mapping[LineId, str] | None = None,
    ) -> None:
        self.document = document
        self.options = options
        rows = document.rows(opened, beside=options.beside, folds=options.folds)
        digits = len(str(max(1, document.most_lines))) + int(options.numbered)
        self.digits = digits
        self.numbers = 1 if options.beside or options.width < NARROW else 2
        hunks = sum(len(diff.hunks) for diff in document.files)
        self.lead = 1 + len(str(hunks)) if options.numbered and hunks else 0
        """The width in cells of the column at the left with the state and the number of each hunk; 0 without it."""
        gutter = 1 + self.numbers * (digits + 1) + 2
        inner = options.width - self.lead
        column = (inner - 1) // 2 if options.beside else inner
        self.column = column
        self.text_width = max(4, column - gutter)
        self.comments = {
            line: wrapped(visible(text), max(10, options.width - gutter - 4)) for line, text in (comments or {}).items()
        }
        heights = {line: len(lines) for line, lines in self.comments.items()}
        self.rows = with_comments(rows, heights) if heights else rows
        self._hunk_tops = self.rows.hunk_tops()
        """The first row of each hunk."""
        self._file_tops = self.rows.file_tops()
        widest = document.widest()
        self._starts = self._row_starts() if options.wrapped and widest > self.text_width else None
        self.overhang = 0 if options.wrapped else max(0, min(widest, LONGEST + 1) - self.text_width)

    @property
    def height(self) -> int:
        """The number of screen lines that all rows take."""
        return self._starts[-1] if self._starts else len(self.rows)

    @property
    def hunk_count(self) -> int:
        """The number of hunks."""
        return len(self._hunk_tops)

    def at(self, y: int) -> tuple[int, int]:
        """Return the row on screen line `y`, and which of its wrapped lines is there, from 0."""
        if self._starts is None:
            return y, 0
        row = bisect_right(self._starts, y) - 1
        return row, y - self._starts[row]

    def top_of(self, row: int) -> int:
        """Return the screen line on which a row begins."""
        return self._starts[row] if self._starts else row

    def bottom_of(self, row: int) -> int:
        """Return the last screen line of a row."""
        return self._starts[row + 1] - 1 if self._starts else row

    def start_from(self, y: int) -> int:
        """Return the first screen line at or below `y` that begins a row."""
        row, part = self.at(y)
        return y if part == 0 else self.top_of(row + 1)

    def hunk_row(self, hunk: int) -> int:
        """Return the first row of a hunk (counted over all files)."""
        return self._hunk_tops[hunk]

    def hunk_at(self, row: int) -> int:
        """Return the hunk a row belongs to, counted over all files; -1 for an unchanged row."""
        return bisect_right(self._hunk_tops, row) - 1 if self.rows[row].hunk >= 0 else -1

    def hunk_from(self, row: int) -> int:
        """Return the first hunk that begins at or below a row, or the number of hunks if none does."""
        return bisect_left(self._hunk_tops, row)

    def folds_around(self, hunk: int) -> list[FoldId]:
        """Return the folds directly above and below a hunk, in its file."""
        top, end = self.rows_of_file(self.rows[self._hunk_tops[hunk]].file)
        first = self._hunk_tops[hunk - 1] if hunk else 0
        after = self._hunk_tops[hunk + 1] if hunk + 1 < self.hunk_count else len(self.rows)
        return self.rows.folds(max(first, top), min(after, end))

    def rows_of_file(self, file: int) -> tuple[int, int]:
        """Return the first row of a file, and the first one below it."""
        tops = self._file_tops
        return tops[file], tops[file + 1] if file + 1 < len(tops) else len(self.rows)

    def start_of_file(self, file: int) -> int:
        """Return the row of a file's first hunk or, if it has none, its first row."""
        top, end = self.rows_of_file(file)
        hunk = self.hunk_from(top)
        return self._hunk_tops[hunk] if hunk < self.hunk_count and self._hunk_tops[hunk] < end else top

    def step_from(self, row: int, by: int) -> int:
        """Return the first row of the next (`by` 1) or previous (-1) hunk or file without hunks; -1 if there is none.

        From inside a hunk, the previous one is that before this hunk.
        """
        if not 0 <= row < len(self.rows):
            return -1
        hunk = self.hunk_at(row)
        target = self.hunk_from(row + 1) if by > 0 else (hunk if hunk >= 0 else self.hunk_from(row)) - 1
        stop = self._hunk_tops[target] if 0 <= target < self.hunk_count else -1
        # Files between this one and that of the next hunk have no hunks.
        file = self.rows[row].file + by
        limit = self.rows[stop].file if stop >= 0 else len(self._file_tops) if by > 0 else -1
        return self._file_tops[file] if (limit - file) * by > 0 else stop

    def row_of(self, line: LineId) -> int:
        """Return the row of a line, or of the fold that hides it; -1 if there is neither."""
        return self.rows.row_of(line)

    def lines_from(self, row: int) -> tuple[int, int]:
        """Return the first old and the first new line at or below a row; past the last line if there is none."""
        old, new = self.rows.lines_from(row)
        past = self.document.most_lines
        return old if old >= 0 else past, new if new >= 0 else past

    def wraps(self, row: DiffRow, side: Side) -> list[int]:
        """Return the offsets in the painted text at which the screen lines of one side of a row begin; `[0]` if it does
        not wrap.
        """
        line = row.old if side == "old" else row.new
        if line < 0 or row.kind in _ONE_LINE:
            return [0]
        if self.document.cells(row.file, side)[line] <= self.text_width:
            return [0]
        return wrap_offsets(self.document.painted(row.file, side, line).text, self.text_width)

    def _row_starts(self) -> list[int]:
        return [0, *accumulate(height for _, head, count in self.rows.runs() for height in self._heights(head, count))]

    def _heights(self, head: DiffRow, count: int) -> list[int]:
        """Return how many screen lines each row of a run takes."""
        if head.kind in _ONE_LINE:
            return [1] * count
        if head.kind == "changed":
            sides = self._side_heights(head, count, "old"), self._side_heights(head, count, "new")
            return [max(both) for both in zip(*sides, strict=True)]
        return self._side_heights(head, count, "old" if head.kind == "removed" else "new")

    def _side_heights(self, head: DiffRow, count: int, side: Side) -> list[int]:
        line, width = head.old if side == "old" else head.new, self.text_width
        if line < 0:
            return [1] * count
        cells = self.document.cells(head.file, side)[line : line + count]
        if self.document.is_plain(head.file, side):
            return [-(-size // width) or 1 for size in cells]
        return [1 if size <= width else len(self.wraps(head.after(step), side)) for step, size in enumerate(cells)]


_MOST = 4  # with and without a scroll bar, before and after a resize


class Geometries:
    """Caches computed geometries until the shown content changes."""

    def __init__(self) -> None:
        self._cache: dict[LayoutOptions, Geometry] = {}

    def at(
        self, options: LayoutOptions, document: DiffDocument, opened: Collection[FoldId], comments: Mapping[LineId, str]
    ) -> Geometry:
        """Return the geometry of the document in one layout.

        It is cached by the layout alone, so call `clear` when the document, the folds or the comments change.
        """
        if options not in self._cache:
            while len(self._cache) >= _MOST:
                self._cache.pop(next(iter(self._cache)))
            self._cache[options] = Geometry(document, options, opened, comments)
        return self._cache[options]

    def clear(self) -> None:
        """Drop all geometries, because the shown content has changed."""
        self._cache.clear()
