"""The files that one diff view shows, their rows, and cached data about their lines. Does not import textual."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, overload

from workbench.diff.hunks import FileDiff, Hunk
from workbench.diff.words import Spans, changed_words, is_paired_by_order, line_pairs
from workbench.view.diff.lines import Lexed, PaintedLine, Standing, SyntaxSpan, line_cells, paint_line
from workbench.view.diff.rows import DiffRow, FoldId, LineId, Rows, Side

CONTEXT = 3
"""The number of unchanged lines shown before and after each hunk."""
_MAX_UNFOLDED = 3
_MOST_LIKENED = 2_000
"""The most changed lines of a file whose removed and added lines are paired by similarity."""
_NO_LINES = ("file", "fold", "no-newline", "skipped")


class Folds(NamedTuple):
    """The hidden lines of a diff: those farther than `context` from a hunk, and those of skipped hunks."""

    context: int = CONTEXT
    skipped: frozenset[int] = frozenset()
    """The hunks that take one row, counted across all files."""
    opened: Collection[FoldId] = frozenset()
    """The folds that the user has opened."""


DEFAULT_FOLDS = Folds()


def _all_rows(diffs: Sequence[FileDiff], folds: Folds, *, beside: bool) -> Rows:
    """Return the rows of the split form (`beside`), or of the unified one, with removed lines above added ones."""
    rows, first = Rows(), 0
    for file, diff in enumerate(diffs):
        if len(diffs) > 1 or not diff.hunks or diff.note or diff.sign in "AD":
            rows.add(DiffRow("file", file))
        if diff.hunks:
            skipped = {hunk - first for hunk in folds.skipped}
            _add_file(rows, diff, file, folds._replace(skipped=frozenset(skipped)), beside)
        first += len(diff.hunks)
    return _with_ends(rows, diffs)


def _add_file(rows: Rows, diff: FileDiff, file: int, folds: Folds, beside: bool) -> None:
    """Add the rows of a file; `folds.skipped` counts its own hunks only."""
    likened = diff.added + diff.removed <= _MOST_LIKENED
    old = new = 0
    for index, hunk in enumerate(diff.hunks):
        if hunk.old - old <= _MAX_UNFOLDED:  # the common case in a file with many hunks, so it is kept fast
            rows.add(("same", file, old, new, -1, 0), hunk.old - old)
        else:
            _add_unchanged(rows, diff, file, Hunk(old, hunk.old, new, hunk.new), folds)
        if index in folds.skipped:
            rows.add(_skipped_row(file, index, hunk))
        elif beside:
            _add_beside(rows, diff, file, index, likened)
        else:
            rows.add(("removed", file, hunk.old, -1, index, 0), hunk.old_end - hunk.old)
            rows.add(("added", file, -1, hunk.new, index, 0), hunk.new_end - hunk.new)
        old, new = hunk.old_end, hunk.new_end
    _add_unchanged(rows, diff, file, Hunk(old, len(diff.old), new, len(diff.new)), folds)


def _skipped_row(file: int, index: int, hunk: Hunk) -> DiffRow:
    """Return the row of a skipped hunk, which shows its first old line or, if it only adds lines, its first new one."""
    old, new = (hunk.old, -1) if hunk.old_end > hunk.old else (-1, hunk.new)
    return DiffRow("skipped", file, old, new, index)


def _add_unchanged(rows: Rows, diff: FileDiff, file: int, part: Hunk, folds: Folds) -> None:
    size = part.old_end - part.old
    head = folds.context if part.old or part.new else 0
    tail = folds.context if part.old_end < len(diff.old) or part.new_end < len(diff.new) else 0
    hidden = size - head - tail
    if hidden <= _MAX_UNFOLDED or (file, part.old + head) in folds.opened:
        rows.add(DiffRow("same", file, part.old, part.new), size)
        return
    rows.add(DiffRow("same", file, part.old, part.new), head)
    rows.add(DiffRow("fold", file, part.old + head, part.new + head, size=hidden))
    rows.add(DiffRow("same", file, part.old_end - tail, part.new_end - tail), tail)


def _add_beside(rows: Rows, diff: FileDiff, file: int, index: int, likened: bool) -> None:
    hunk = diff.hunks[index]
    olds, news = hunk.old_end - hunk.old, hunk.new_end - hunk.new
    if likened:
        pairs = line_pairs(diff.old[hunk.old : hunk.old_end], diff.new[hunk.new : hunk.new_end])
    else:
        pairs = []
        rows.add(DiffRow("changed", file, hunk.old, hunk.new, index), min(olds, news))
    old = new = 0 if likened else min(olds, news)
    for old_at, new_at in [*pairs, (olds, news)]:
        removed, added = old_at - old, new_at - new
        both = min(removed, added)
        rows.add(DiffRow("changed", file, hunk.old + old, hunk.new + new, index), both)
        rows.add(DiffRow("changed", file, hunk.old + old + both, -1, index), removed - both)
        rows.add(DiffRow("changed", file, -1, hunk.new + new + both, index), added - both)
        if old_at < olds and new_at < news:
            rows.add(DiffRow("changed", file, hunk.old + old_at, hunk.new + new_at, index))
        old, new = old_at + 1, new_at + 1


def with_comments(rows: Rows, heights: Mapping[LineId, int]) -> Rows:
    """Return the rows with those of the comments, each inserted below the line that it is about.

    `heights` has the number of lines of each comment; the `size` of a row of a comment is its index in the comment.
    """
    commented = Rows()
    files = {file for file, _, _ in heights}
    for _, head, count in rows.runs():
        begun = 0
        for step in _commented(head, count, heights) if head.file in files else ():
            commented.add(head.after(begun), step + 1 - begun)
            _add_remarks(commented, head.after(step), heights)
            begun = step + 1
        commented.add(head.after(begun), count - begun)
    return commented


def _commented(head: DiffRow, count: int, heights: Mapping[LineId, int]) -> list[int]:
    """Return which rows of a run, counted from 0, have a comment."""
    if head.kind in _NO_LINES:
        return []
    steps = set()
    for file, side, line in heights:
        at = head.new if side == "new" else -1 if head.kind == "same" else head.old
        if file == head.file and 0 <= at <= line < at + count:
            steps.add(line - at)
    return sorted(steps)


def _add_remarks(commented: Rows, row: DiffRow, heights: Mapping[LineId, int]) -> None:
    if row.kind != "same":
        for part in range(heights.get((row.file, "old", row.old), 0)):
            commented.add(DiffRow("remark", row.file, row.old, -1, row.hunk, part))
    for part in range(heights.get((row.file, "new", row.new), 0)):
        commented.add(DiffRow("remark", row.file, -1, row.new, row.hunk, part))


def _with_ends(rows: Rows, diffs: Sequence[FileDiff]) -> Rows:
    """Return the rows with one more after each last line that has no newline at its end."""
    last = {(file, "old", len(diff.old) - 1) for file, diff in enumerate(diffs) if _is_cut(diff.old)}
    last |= {(file, "new", len(diff.new) - 1) for file, diff in enumerate(diffs) if _is_cut(diff.new)}
    if not last:
        return rows
    ended = Rows()
    for _, head, count in rows.runs():  # the last line of a side always ends its run
        ended.add(head, count)
        row = head.after(count - 1)
        old, new = (row.file, "old", row.old) in last, (row.file, "new", row.new) in last
        if row.kind not in ("fold", "skipped") and (old or new):
            ended.add(DiffRow("no-newline", row.file, row.old if old else -1, row.new if new else -1, row.hunk))
    return ended


def _is_cut(lines: Sequence[str]) -> bool:
    """Return whether the last line has no newline."""
    return bool(lines) and not lines[-1].endswith("\n")


NEAR = 400
"""How many lines ahead syntax is computed at once; the rest is computed in steps."""
_MOST_PAIRS = 5_000
_ONE_CELL = bytes((ord("\n"), *range(ord(" "), 0x7F)))
"""The ASCII characters that take one cell, and the line break."""


class PlainCells(Sequence[int]):
    """The widths in cells of lines whose characters each take one cell, counted on request."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines

    def __len__(self) -> int:
        return len(self._lines)

    @overload
    def __getitem__(self, at: int) -> int: ...

    @overload
    def __getitem__(self, at: slice) -> list[int]: ...

    def __getitem__(self, at: int | slice) -> int | list[int]:
        if isinstance(at, slice):
            return [len(line) - line.endswith("\n") for line in self._lines[at]]
        line = self._lines[at]
        return len(line) - line.endswith("\n")

    @property
    def widest(self) -> int:
        """The width of the longest line in cells."""
        if not self._lines:
            return 0
        # only the last line may have no line break
        return max(max(map(len, self._lines)) - 1, len(self._lines[-1].removesuffix("\n")))


class DocumentFile:
    """The cached data about the lines of one compared file; later documents with the same comparison share it."""

    def __init__(self, diff: FileDiff) -> None:
        self.diff = diff
        self.standing = Standing(diff)
        self.is_plain = lru_cache(None)(self._is_plain)
        self.cells = lru_cache(None)(self._cells)
        self.lexed = lru_cache(None)(self._lexed)

    def lines(self, side: Side) -> list[str]:
        """Return the lines of one side."""
        return self.diff.old if side == "old" else self.diff.new

    def widest(self, side: Side) -> int:
        """Return the width of the longest line of one side in cells; at least 1."""
        cells = self.cells(side)
        return cells.widest if isinstance(cells, PlainCells) else max(cells, default=1)

    def _text(self, side: Side) -> str | None:
        return self.diff.before if side == "old" else self.diff.after

    def _is_plain(self, side: Side) -> bool:
        """Return whether every character of a side takes one cell."""
        text = self._text(side)
        return text is not None and text.isascii() and not text.encode().translate(None, _ONE_CELL)

    def _cells(self, side: Side) -> Sequence[int]:
        """Return how many cells each line of one side takes."""
        lines = self.lines(side)
        return PlainCells(lines) if self.is_plain(side) else [line_cells(line) for line in lines]

    def _lexed(self, side: Side) -> Lexed:
        return Lexed(self.diff.path, self._text(side))


class DiffDocument:
    """One or more compared files as one long page."""

    def __init__(self, files: Sequence[FileDiff], earlier: DiffDocument | None = None) -> None:
        """Share the data that `earlier` has cached about files that are compared there already."""
        self.files = tuple(files)
        cached: dict[int, DocumentFile] = (
            {id(part.diff): part for part in earlier._parts} if earlier is not None else {}
        )
        self._parts: list[DocumentFile] = [cached.get(id(diff)) or DocumentFile(diff) for diff in self.files]
        self._pending: tuple[Lexed, int] | None = None
        self._partners = lru_cache(64)(self._pairs_of)
        self._changed = lru_cache(1_024)(self._words_of)
        self.painted = lru_cache(2_048)(self._painted)
        self._rows_of = lru_cache(4)(self._build_rows)

    def lines(self, file: int, side: Side) -> list[str]:
        """Return the lines of one side of a file."""
        return self._parts[file].lines(side)

    def cells(self, file: int, side: Side) -> Sequence[int]:
        """Return how many cells each line of one side of a file takes."""
        return self._parts[file].cells(side)

    def is_plain(self, file: int, side: Side) -> bool:
        """Return whether every character of one side of a file takes one cell."""
        return self._parts[file].is_plain(side)

    @property
    def most_lines(self) -> int:
        """The highest line number of all files."""
        return max((max(len(diff.old), len(diff.new)) for diff in self.files), default=0)

    def widest(self) -> int:
        """Return the width of the longest line in cells; at least 1."""
        sides: tuple[Side, Side] = ("old", "new")
        return max((part.widest(side) for part in self._parts for side in sides), default=1) or 1

    def rows(self, opened: Collection[FoldId], *, beside: bool, folds: Folds = DEFAULT_FOLDS) -> Rows:
        """Return the rows of the split form (`beside`) or the unified one; the last four results are cached."""
        return self._rows_of(folds._replace(opened=frozenset(opened)), beside)

    def _build_rows(self, folds: Folds, beside: bool) -> Rows:
        return _all_rows(self.files, folds, beside=beside)

    def syntax(self, file: int, side: Side, line: int) -> list[SyntaxSpan]:
        """Return the syntax of one line; empty while the line is too far ahead of the lexed ones (see `work`)."""
        lexed = self._parts[file].lexed(side)
        if line - lexed.reached <= NEAR:
            lexed.reach(line)
        elif not lexed.is_done:
            self._pending = (lexed, line)
        return lexed.line(line)

    def work(self) -> bool:
        """Lex one step toward a line that was requested too far ahead; return whether its syntax is known now."""
        if self._pending is None:
            return True
        lexed, line = self._pending
        lexed.reach(min(line, lexed.reached + NEAR))
        if lexed.is_done or lexed.reached >= line:
            self._pending = None
        return self._pending is None

    @property
    def has_work(self) -> bool:
        """Whether the syntax of a requested line is not known yet."""
        return self._pending is not None

    def _painted(self, file: int, side: Side, line: int) -> PaintedLine:
        return paint_line(self._parts[file].standing.masked_line(side, line))

    def words(self, file: int, hunk: int, side: Side, line: int) -> Spans:
        """Return the changed parts of a line that has a counterpart on the other side of its hunk; otherwise empty."""
        other = self._partner(file, hunk, side, line)
        if other is None:
            return []
        return self._changed(file, line, other)[0] if side == "old" else self._changed(file, other, line)[1]

    def _words_of(self, file: int, old: int, new: int) -> tuple[Spans, Spans]:
        diff = self.files[file]
        return changed_words(diff.old[old].removesuffix("\n"), diff.new[new].removesuffix("\n"))

    def _partner(self, file: int, hunk: int, side: Side, line: int) -> int | None:
        """Return the line on the other side that corresponds to a line of a hunk, or None."""
        part = self.files[file].hunks[hunk]
        olds, news = part.old_end - part.old, part.new_end - part.new
        if not is_paired_by_order(olds, news):
            return self._partners(file, hunk)[side].get(line)
        mine, other = (part.old, part.new) if side == "old" else (part.new, part.old)
        offset = line - mine
        return other + offset if offset < min(olds, news, _MOST_PAIRS) else None

    def _pairs_of(self, file: int, hunk: int) -> dict[Side, dict[int, int]]:
        """Return, for each side of a hunk, the line on the other side that corresponds to each line."""
        diff = self.files[file]
        part = diff.hunks[hunk]
        pairs = line_pairs(diff.old[part.old : part.old_end], diff.new[part.new : part.new_end])
        together = [(part.old + old, part.new + new) for old, new in pairs]
        return {"old": dict(together), "new": {new: old for old, new in together}}
