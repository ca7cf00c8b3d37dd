"""The rows of a diff, unified or side by side, with unchanged parts folded. Pure; the view paints one row at a time."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from workbench.diff.hunks import FileDiff, Hunk
from workbench.diff.words import line_pairs
from workbench.view.diff.rows import FoldId, LineId, Row, Rows

CONTEXT = 3
_SMALL_FOLD = 3
_MOST_LIKENED = 2_000
_NO_LINES = ("file", "fold", "no-newline")


def unified_rows(diffs: Sequence[FileDiff], opened: Collection[FoldId] = ()) -> Rows:
    """Removed lines over added ones."""
    return _all_rows(diffs, opened, beside=False)


def split_rows(diffs: Sequence[FileDiff], opened: Collection[FoldId] = ()) -> Rows:
    """Removed lines beside added ones."""
    return _all_rows(diffs, opened, beside=True)


def _all_rows(diffs: Sequence[FileDiff], opened: Collection[FoldId], *, beside: bool) -> Rows:
    rows = Rows()
    for file, diff in enumerate(diffs):
        if len(diffs) > 1 or not diff.hunks or diff.note or diff.sign in "AD":
            rows.add(Row("file", file))
        if diff.hunks:
            _add_file(rows, diff, file, opened, beside)
    return _with_ends(rows, diffs)


def _add_file(rows: Rows, diff: FileDiff, file: int, opened: Collection[FoldId], beside: bool) -> None:
    likened = diff.added + diff.removed <= _MOST_LIKENED
    old = new = 0
    for index, hunk in enumerate(diff.hunks):
        if hunk.old - old <= _SMALL_FOLD:  # the most of a file with many hunks
            rows.add(("same", file, old, new, -1, 0), hunk.old - old)
        else:
            _add_unchanged(rows, diff, file, Hunk(old, hunk.old, new, hunk.new), opened)
        if beside:
            _add_beside(rows, diff, file, index, likened)
        else:
            rows.add(("removed", file, hunk.old, -1, index, 0), hunk.old_end - hunk.old)
            rows.add(("added", file, -1, hunk.new, index, 0), hunk.new_end - hunk.new)
        old, new = hunk.old_end, hunk.new_end
    _add_unchanged(rows, diff, file, Hunk(old, len(diff.old), new, len(diff.new)), opened)


def _add_unchanged(rows: Rows, diff: FileDiff, file: int, part: Hunk, opened: Collection[FoldId]) -> None:
    size = part.old_end - part.old
    head = CONTEXT if part.old or part.new else 0
    tail = CONTEXT if part.old_end < len(diff.old) or part.new_end < len(diff.new) else 0
    hidden = size - head - tail
    if hidden <= _SMALL_FOLD or (file, part.old + head) in opened:
        rows.add(Row("same", file, part.old, part.new), size)
        return
    rows.add(Row("same", file, part.old, part.new), head)
    rows.add(Row("fold", file, part.old + head, part.new + head, size=hidden))
    rows.add(Row("same", file, part.old_end - tail, part.new_end - tail), tail)


def _add_beside(rows: Rows, diff: FileDiff, file: int, index: int, likened: bool) -> None:
    hunk = diff.hunks[index]
    olds, news = hunk.old_end - hunk.old, hunk.new_end - hunk.new
    if likened:
        pairs = line_pairs(diff.old[hunk.old : hunk.old_end], diff.new[hunk.new : hunk.new_end])
    else:
        pairs = []
        rows.add(Row("changed", file, hunk.old, hunk.new, index), min(olds, news))
    old = new = 0 if likened else min(olds, news)
    for old_at, new_at in [*pairs, (olds, news)]:
        left, right = old_at - old, new_at - new
        both = min(left, right)
        rows.add(Row("changed", file, hunk.old + old, hunk.new + new, index), both)
        rows.add(Row("changed", file, hunk.old + old + both, -1, index), left - both)
        rows.add(Row("changed", file, -1, hunk.new + new + both, index), right - both)
        if old_at < olds and new_at < news:
            rows.add(Row("changed", file, hunk.old + old_at, hunk.new + new_at, index))
        old, new = old_at + 1, new_at + 1


def with_comments(rows: Rows, heights: Mapping[LineId, int]) -> Rows:
    """The rows, and below each commented line as many rows as its comment takes; `size` counts them from 0."""
    shown = Rows()
    for _, head, count in rows.runs():
        begun = 0
        for step in _commented(head, count, heights):
            shown.add(head.after(begun), step + 1 - begun)
            _add_remarks(shown, head.after(step), heights)
            begun = step + 1
        shown.add(head.after(begun), count - begun)
    return shown


def _commented(head: Row, count: int, heights: Mapping[LineId, int]) -> list[int]:
    """Which rows of a run, from 0, have a comment."""
    if head.kind in _NO_LINES:
        return []
    found = set()
    for file, side, line in heights:
        at = head.new if side == "new" else -1 if head.kind == "same" else head.old
        if file == head.file and 0 <= at <= line < at + count:
            found.add(line - at)
    return sorted(found)


def _add_remarks(shown: Rows, row: Row, heights: Mapping[LineId, int]) -> None:
    if row.kind != "same":
        for part in range(heights.get((row.file, "old", row.old), 0)):
            shown.add(Row("remark", row.file, row.old, -1, row.hunk, part))
    for part in range(heights.get((row.file, "new", row.new), 0)):
        shown.add(Row("remark", row.file, -1, row.new, row.hunk, part))


def _with_ends(rows: Rows, diffs: Sequence[FileDiff]) -> Rows:
    """The rows, and after a last line that no newline ends a row that says so."""
    last = {(file, "old", len(diff.old) - 1) for file, diff in enumerate(diffs) if _is_cut(diff.old)}
    last |= {(file, "new", len(diff.new) - 1) for file, diff in enumerate(diffs) if _is_cut(diff.new)}
    if not last:
        return rows
    ended = Rows()
    for _, head, count in rows.runs():  # the last line of a side is the last of its run
        ended.add(head, count)
        row = head.after(count - 1)
        old, new = (row.file, "old", row.old) in last, (row.file, "new", row.new) in last
        if row.kind != "fold" and (old or new):
            ended.add(Row("no-newline", row.file, row.old if old else -1, row.new if new else -1, row.hunk))
    return ended


def _is_cut(lines: Sequence[str]) -> bool:
    """Whether the last line has no newline."""
    return bool(lines) and not lines[-1].endswith("\n")
