"""The rows of a diff, unified or side by side, with unchanged parts folded. Pure; the view paints one row at a time."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from workbench.diff.hunks import FileDiff, Hunk
from workbench.diff.words import line_pairs

CONTEXT = 3
_SMALL_FOLD = 3
_MOST_LIKENED = 2_000

RowKind: TypeAlias = Literal["file", "same", "removed", "added", "changed", "fold", "no-newline", "remark"]
Side: TypeAlias = Literal["old", "new"]
FoldId: TypeAlias = tuple[int, int]
"""A fold by its file and the old line it begins at."""


class Row(NamedTuple):
    """One row: line numbers from 0, -1 where a side has none; `size` is how many lines a fold hides.

    Kind "changed" is of the side-by-side form alone, where one row holds a removed and an added line.
    """

    kind: RowKind
    file: int
    old: int = -1
    new: int = -1
    hunk: int = -1
    size: int = 0


def unified_rows(diffs: Sequence[FileDiff], opened: Collection[FoldId] = ()) -> list[Row]:
    """Removed lines over added ones."""
    return [row for index, diff in enumerate(diffs) for row in _rows(diff, index, opened, len(diffs) > 1, beside=False)]


def split_rows(diffs: Sequence[FileDiff], opened: Collection[FoldId] = ()) -> list[Row]:
    """Removed lines beside added ones."""
    return [row for index, diff in enumerate(diffs) for row in _rows(diff, index, opened, len(diffs) > 1, beside=True)]


def _rows(diff: FileDiff, file: int, opened: Collection[FoldId], several: bool, *, beside: bool) -> list[Row]:
    rows = [Row("file", file)] if several or not diff.hunks or diff.note or diff.sign in "AD" else []
    likened = diff.added + diff.removed <= _MOST_LIKENED
    old = new = 0
    for index, hunk in enumerate(diff.hunks):
        rows += _unchanged(diff, file, Hunk(old, hunk.old, new, hunk.new), opened)
        rows += _beside(diff, file, index, likened) if beside else _over(diff, file, index)
        old, new = hunk.old_end, hunk.new_end
    if diff.hunks:
        rows += _unchanged(diff, file, Hunk(old, len(diff.old), new, len(diff.new)), opened)
    return _with_ends(diff, rows)


def _unchanged(diff: FileDiff, file: int, part: Hunk, opened: Collection[FoldId]) -> list[Row]:
    size = part.old_end - part.old
    head = CONTEXT if part.old or part.new else 0
    tail = CONTEXT if part.old_end < len(diff.old) or part.new_end < len(diff.new) else 0
    hidden = size - head - tail
    if hidden <= _SMALL_FOLD or (file, part.old + head) in opened:
        return [Row("same", file, part.old + step, part.new + step) for step in range(size)]
    return [
        *(Row("same", file, part.old + step, part.new + step) for step in range(head)),
        Row("fold", file, part.old + head, part.new + head, size=hidden),
        *(Row("same", file, part.old + step, part.new + step) for step in range(head + hidden, size)),
    ]


def _over(diff: FileDiff, file: int, index: int) -> list[Row]:
    hunk = diff.hunks[index]
    rows = [Row("removed", file, old, -1, index) for old in range(hunk.old, hunk.old_end)]
    return rows + [Row("added", file, -1, new, index) for new in range(hunk.new, hunk.new_end)]


def _beside(diff: FileDiff, file: int, index: int, likened: bool) -> list[Row]:
    hunk = diff.hunks[index]
    olds, news = hunk.old_end - hunk.old, hunk.new_end - hunk.new
    pairs = [(place, place) for place in range(min(olds, news))]
    if likened:
        pairs = line_pairs(diff.old[hunk.old : hunk.old_end], diff.new[hunk.new : hunk.new_end])
    rows: list[Row] = []
    old = new = 0
    for old_at, new_at in [*pairs, (olds, news)]:
        for step in range(max(old_at - old, new_at - new)):
            left = hunk.old + old + step if old + step < old_at else -1
            right = hunk.new + new + step if new + step < new_at else -1
            rows.append(Row("changed", file, left, right, index))
        if old_at < olds and new_at < news:
            rows.append(Row("changed", file, hunk.old + old_at, hunk.new + new_at, index))
        old, new = old_at + 1, new_at + 1
    return rows


def with_comments(rows: Sequence[Row], heights: Mapping[tuple[int, Side, int], int]) -> list[Row]:
    """The rows, and below each commented line as many rows as its comment takes; `size` counts them from 0."""
    shown: list[Row] = []
    for row in rows:
        shown.append(row)
        if row.kind in ("file", "fold", "no-newline"):
            continue
        lines: tuple[tuple[Side, int], ...] = (("old", row.old), ("new", row.new))
        for side, line in lines:
            if line < 0 or (side == "old" and row.kind == "same"):
                continue
            old, new = (line, -1) if side == "old" else (-1, line)
            height = heights.get((row.file, side, line), 0)
            shown += [Row("remark", row.file, old, new, row.hunk, part) for part in range(height)]
    return shown


def _with_ends(diff: FileDiff, rows: list[Row]) -> list[Row]:
    """The rows, and after a last line that no newline ends a row that says so."""
    last_old = len(diff.old) - 1 if diff.old and not diff.old[-1].endswith("\n") else None
    last_new = len(diff.new) - 1 if diff.new and not diff.new[-1].endswith("\n") else None
    if last_old is None and last_new is None:
        return rows
    ended: list[Row] = []
    for row in rows:
        ended.append(row)
        old, new = row.old == last_old, row.new == last_new
        if row.kind != "fold" and (old or new):
            ended.append(Row("no-newline", row.file, row.old if old else -1, row.new if new else -1, row.hunk))
    return ended
