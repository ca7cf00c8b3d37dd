"""The files one diff view shows, with everything about their lines that is worth keeping. No textual here."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from workbench.diff.hunks import FileDiff
from workbench.diff.words import Spans, changed_words, line_pairs
from workbench.tui.diff.layout import Side
from workbench.tui.diff.lexing import Lexed, SyntaxSpan
from workbench.tui.diff.lines import PaintedLine, line_cells, paint_line

NEAR = 400
"""Syntax this many lines ahead is worked out at once; what is farther comes in steps."""


class Document:
    """Files compared, as one long page; `files` may be several for an action that writes several."""

    def __init__(self, files: Sequence[FileDiff]) -> None:
        self.files = tuple(files)
        self._lexed: dict[tuple[int, Side], Lexed] = {}
        self._wanted: tuple[Lexed, int] | None = None
        self.words_of = lru_cache(256)(self._words_of)
        self.painted = lru_cache(2_048)(self._painted)

    def lines(self, file: int, side: Side) -> list[str]:
        """The lines of one side of a file."""
        diff = self.files[file]
        return diff.old if side == "old" else diff.new

    @property
    def most_lines(self) -> int:
        """The highest line number there is."""
        return max((max(len(diff.old), len(diff.new)) for diff in self.files), default=0)

    def widest(self) -> int:
        """Cells of the longest line that changed or surrounds a change; at least 1."""
        return max((line_cells(line) for diff in self.files for line in (*diff.old, *diff.new)), default=1) or 1

    def syntax(self, file: int, side: Side, line: int) -> list[SyntaxSpan]:
        """Syntax of one line; empty while it is still far from what is known (see `work`)."""
        lexed = self._lexed.get((file, side))
        if lexed is None:
            diff = self.files[file]
            lexed = self._lexed[file, side] = Lexed(diff.path, diff.before if side == "old" else diff.after)
        if line - lexed.reached <= NEAR:
            lexed.reach(line)
        elif not lexed.is_done:
            self._wanted = (lexed, line)
        return lexed.line(line)

    def work(self) -> bool:
        """One step towards syntax that was asked for and was too far; whether it is known now."""
        if self._wanted is None:
            return True
        lexed, line = self._wanted
        lexed.reach(min(line, lexed.reached + NEAR))
        if lexed.is_done or lexed.reached >= line:
            self._wanted = None
        return self._wanted is None

    @property
    def has_work(self) -> bool:
        """Whether syntax was asked for that is not known yet."""
        return self._wanted is not None

    def _painted(self, file: int, side: Side, line: int) -> PaintedLine:
        return paint_line(self.lines(file, side)[line])

    def _words_of(self, file: int, hunk: int) -> dict[tuple[Side, int], Spans]:
        """Changed words of the lines of a hunk, for lines that became other lines."""
        diff = self.files[file]
        part = diff.hunks[hunk]
        olds, news = diff.old[part.old : part.old_end], diff.new[part.new : part.new_end]
        found: dict[tuple[Side, int], Spans] = {}
        for old, new in line_pairs(olds, news)[:1_000]:
            before, after = changed_words(olds[old].removesuffix("\n"), news[new].removesuffix("\n"))
            found["old", part.old + old], found["new", part.new + new] = before, after
        return found
