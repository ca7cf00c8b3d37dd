"""The rows of a diff as runs of consecutive lines; a row is created when it is accessed.

A hunk of many lines is one or two runs, so laying out a long diff does not take a step per line.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

RowKind: TypeAlias = Literal["file", "same", "removed", "added", "changed", "fold", "no-newline", "remark", "skipped"]
Side: TypeAlias = Literal["old", "new"]
FoldId: TypeAlias = tuple[int, int]
"""A fold, by its file and the old line at which it begins."""
LineId: TypeAlias = tuple[int, Side, int]
"""A line of a document: file, side and line, each from 0."""


class DiffRow(NamedTuple):
    """One row: line numbers from 0, or -1 if a side has none.

    `size` is how many lines a fold hides or, in a row of kind "remark", the index of the row in its comment.

    Only the side-by-side form has rows of kind "changed", which hold a removed and an added line. A row of kind
    "skipped" takes the place of all rows of a hunk.
    """

    kind: RowKind
    file: int
    old: int = -1
    new: int = -1
    hunk: int = -1
    size: int = 0

    def after(self, lines: int) -> DiffRow:
        """Return the row `lines` rows further along its run."""
        kind, file, old, new, hunk, size = self
        return DiffRow(kind, file, old + lines if old >= 0 else -1, new + lines if new >= 0 else -1, hunk, size)


class Run(NamedTuple):
    """Rows of one kind with consecutive lines: the run's start among all rows, its first row, its number of rows."""

    start: int
    head: DiffRow
    rows: int


class Rows:
    """All rows of a diff, in order."""

    def __init__(self) -> None:
        self._heads: list[tuple[RowKind, int, int, int, int, int]] = []
        self._starts: list[int] = []
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, index: int) -> DiffRow:
        at = bisect_right(self._starts, index) - 1
        return DiffRow(*self._heads[at]).after(index - self._starts[at])

    def __iter__(self) -> Iterator[DiffRow]:
        return (head.after(step) for _, head, count in self.runs() for step in range(count))

    def add(self, head: tuple[RowKind, int, int, int, int, int], count: int = 1) -> None:
        """Append `count` rows, the first of which is `head`: a row, or the fields of one."""
        if count > 0:
            self._heads.append(head)
            self._starts.append(self._size)
            self._size += count

    def runs(self, first: int = 0, end: int | None = None) -> Iterator[Run]:
        """Yield the runs that overlap rows `first` to `end`."""
        starts = self._starts
        begin = max(0, bisect_right(starts, first) - 1)
        for at in range(begin, len(starts) if end is None else bisect_left(starts, end)):
            until = starts[at + 1] if at + 1 < len(starts) else self._size
            yield Run(starts[at], DiffRow(*self._heads[at]), until - starts[at])

    def hunk_tops(self) -> list[int]:
        """Return the first row of each hunk."""
        tops = []
        file = hunk = -1
        for start, (_, in_file, _, _, in_hunk, _) in zip(self._starts, self._heads, strict=True):
            if in_hunk >= 0 and (in_hunk != hunk or in_file != file):
                file, hunk = in_file, in_hunk
                tops.append(start)
        return tops

    def file_tops(self) -> list[int]:
        """Return the first row of each file; every file has at least one."""
        tops = []
        file = -1
        for start, head in zip(self._starts, self._heads, strict=True):
            if head[1] != file:
                file = head[1]
                tops.append(start)
        return tops

    def folds(self, first: int = 0, end: int | None = None) -> list[FoldId]:
        """Return the folds among rows `first` to `end`."""
        return [(head.file, head.old) for _, head, _ in self.runs(first, end) if head.kind == "fold"]

    def row_of(self, line: LineId) -> int:
        """Return the row of a line, or of the fold that hides it; -1 if there is neither."""
        file, side, number = line
        first = bisect_left(self._heads, file, key=lambda head: head[1])
        for start, head, count in self.runs(self._starts[first] if first < len(self._starts) else self._size):
            if head.file != file:
                break
            at = head.old if side == "old" else head.new
            if 0 <= at <= number:
                if head.kind == "fold" and number < at + head.size:
                    return start
                if number < at + count:
                    return start + number - at
        return -1

    def lines_from(self, row: int) -> LineNumbers:
        """Return the first old and the first new line of a file at or below a row, -1 for a side that has none."""
        old = new = file = -1
        for start, head, _ in self.runs(max(0, row)):
            if head.file != file >= 0:
                break
            file = head.file
            here = head.after(max(0, row - start))
            old, new = old if old >= 0 else here.old, new if new >= 0 else here.new
            if old >= 0 and new >= 0:
                break
        return old, new


LineNumbers: TypeAlias = tuple[int, int]
"""A line number on the old side and one on the new."""
