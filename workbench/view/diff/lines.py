"""Paints lines of a diff: escapes, dots and syntax, and the marks of the cursor and of search matches."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len, get_character_cell_size

from workbench.diff.hunks import FileDiff, split_lines
from workbench.lazy_pattern import lazy_pattern
from workbench.secrets.masker import MASKER, SecretMasker
from workbench.text import visible
from workbench.view.diff.rows import LineId, Side

if TYPE_CHECKING:
    from pygments.lexer import Lexer


@dataclass(frozen=True)
class Marks:
    """The marks in a diff; kept by a view and read by its painter."""

    cursor: int = -1
    """The row of the cursor, or -1 if there is none."""
    matches: Mapping[LineId, Sequence[tuple[int, int]]] = field(default_factory=dict)
    """The search matches in each line, as start and end."""
    here: tuple[LineId, int] | None = None
    """The current match: its line and its start."""
    edited: Collection[int] = ()
    """The hunks whose text the user has edited."""
    expand: str = ""
    """The key that expands the folds around the current hunk, and its effect; empty if it is not named."""
    reviewed: Collection[int] = ()
    """The files that the user has reviewed, from 0."""
    include: str = ""
    """The key that includes the current hunk again if it is skipped, and its effect."""


def line_of(row_file: int, old: int, new: int) -> LineId | None:
    """Return the line that a row shows: its new line or, if it has none, its old one; None if it has neither."""
    if new >= 0:
        return row_file, "new", new
    return (row_file, "old", old) if old >= 0 else None


TAB = 4
DOT = "·"
_LONG_BLANKS = lazy_pattern(r"(?<=\S) {3,}| +$")


@dataclass(frozen=True)
class PaintedLine:
    """A line ready to paint; `offsets[i]` is the start of the raw line's character `i`, or None if nothing moved."""

    text: str
    offsets: tuple[int, ...] | None = None

    def offset(self, index: int) -> int:
        """Return the position of the raw line's character `index` in the painted text."""
        if self.offsets is None:
            return min(index, len(self.text))
        return self.offsets[min(index, len(self.offsets) - 1)]


def is_plain(body: str) -> bool:
    """Return whether a line, without its newline, is painted unchanged, with one cell per character."""
    return body.isascii() and body.isprintable() and "   " not in body.strip(" ") and not body.endswith(" ")


def paint_line(line: str) -> PaintedLine:
    """Return the line without newline: tabs expanded, long or trailing spaces as dots, hidden characters escaped."""
    body = line.removesuffix("\n")
    if is_plain(body):
        return PaintedLine(body)
    body = _LONG_BLANKS.sub(lambda run: DOT * len(run.group()), body)
    if body.isprintable() and visible(body, lines=False) == body:
        return PaintedLine(body)
    pieces: list[str] = []
    offsets = [0]
    column = 0
    for piece in _painted_characters(body):
        painted = " " * (TAB - column % TAB) if piece == "\t" else piece
        pieces.append(painted)
        column += cell_len(painted)
        offsets.append(offsets[-1] + len(painted))
    return PaintedLine("".join(pieces), tuple(offsets))


def _painted_characters(body: str) -> Iterator[str]:
    for sign in body:
        escaped = sign if sign == "\t" else visible(sign, lines=False)
        is_hidden = escaped == sign and not sign.isprintable() and sign != "\t"
        yield f"\\u{ord(sign):04x}" if is_hidden else escaped


def line_cells(line: str) -> int:
    """Return how many cells the painted line takes."""
    body = line.removesuffix("\n")
    return len(body) if is_plain(body) else cell_len(paint_line(line).text)


def wrap_offsets(text: str, width: int) -> list[int]:
    """Return the start of each painted row of `width` cells; there is at least one, and no wide character is split."""
    if len(text) <= width and text.isascii():
        return [0]
    if text.isascii():
        return list(range(0, len(text), max(1, width)))
    offsets, cells = [0], 0
    for index, sign in enumerate(text):
        size = get_character_cell_size(sign)
        if cells + size > width and index > offsets[-1]:
            offsets.append(index)
            cells = 0
        cells += size
    return offsets


def cut_cells(text: str, start: int, width: int) -> tuple[int, int, int]:
    """Return the first and the end of the characters that lie completely in `width` cells from cell `start`, and how
    many empty cells precede them.
    """
    if text.isascii():
        return min(start, len(text)), min(start + width, len(text)), 0
    first, cell = 0, 0
    while first < len(text) and cell < start:
        cell += get_character_cell_size(text[first])
        first += 1
    indent = cell - start if first < len(text) or cell > start else 0
    end, available = first, width - indent
    while end < len(text) and (size := get_character_cell_size(text[end])) <= available:
        available -= size
        end += 1
    return first, end, max(0, indent)


_MAX_CHARACTERS = 400_000
_LONGEST_LINE = 2_000
_STYLES = {
    "Comment": "comment",
    "Keyword": "keyword",
    "Operator.Word": "keyword",
    "Literal.String": "string",
    "Literal.String.Doc": "comment",
    "Literal.Number": "number",
    "Name.Builtin": "builtin",
    "Name.Class": "definition",
    "Name.Function": "definition",
    "Name.Decorator": "builtin",
    "Name.Tag": "keyword",
    "Name.Attribute": "builtin",
}
"""The style of each pygments token kind and of its subkinds, by the kind's name."""


class SyntaxSpan(NamedTuple):
    """Characters `start` to `end` of a line, which have the style `name`."""

    start: int
    end: int
    name: str


class Lexed:
    """The syntax of one text; lines that are not lexed yet, or never will be, have none."""

    def __init__(self, path: str, text: str | None) -> None:
        self._lines: list[list[SyntaxSpan]] = [[]]
        self._tokens = _tokens(path, text or "")
        self.is_done = False

    def reach(self, line: int) -> None:
        """Lex until the syntax of `line` (from 0) is complete or the text ends."""
        while not self.is_done and len(self._lines) <= line + 1:
            token = next(self._tokens, None)
            if token is None:
                self.is_done = True
            else:
                self._add(*token)

    def line(self, line: int) -> list[SyntaxSpan]:
        """Return the spans of one line that are known so far."""
        return self._lines[line] if line < len(self._lines) else []

    @property
    def reached(self) -> int:
        """The number of lines whose syntax is complete."""
        return len(self._lines) - 1

    def _add(self, column: int, name: str, text: str) -> None:
        for count, piece in enumerate(text.split("\n")):
            if count:
                self._lines.append([])
                column = 0
            if name and piece:
                self._lines[-1].append(SyntaxSpan(column, column + len(piece), name))
            column += len(piece)


def _tokens(path: str, text: str) -> Iterator[tuple[int, str, str]]:
    """Yield the column, style and text of each token.

    Yields nothing if the text or one of its lines is too long, or the file type is unknown.
    """
    lexer = _lexer_for(PurePath(path).name) if 0 < len(text) <= _MAX_CHARACTERS else None
    if lexer is None or max(map(len, text.split("\n"))) > _LONGEST_LINE:
        return
    line_start = 0
    for offset, kind, piece in lexer.get_tokens_unprocessed(text):
        yield offset - line_start, _style_of(kind), piece
        newline = piece.rfind("\n")
        if newline >= 0:
            line_start = offset + newline + 1


@lru_cache(16)
def _lexer_for(name: str) -> Lexer | None:
    from pygments.lexers import get_lexer_for_filename
    from pygments.util import ClassNotFound

    try:
        return get_lexer_for_filename(name)
    except ClassNotFound:
        return None


def _style_of(kind: tuple[str, ...]) -> str:
    for length in range(len(kind), 0, -1):
        style = _STYLES.get(".".join(kind[:length]))
        if style:
            return style
    return ""


_BLOCK = 64
"""How many lines are checked for secrets at once."""
_OVER_LINES = "PRIVATE KEY"
"""Marks a secret that spans several lines."""


class Standing:
    """The lines of both sides of a file; each character of a secret that was there before the change is a dot."""

    def __init__(self, diff: FileDiff) -> None:
        self._diff = diff
        self._is_free = lru_cache(1_024)(self._looked_through)

    def masked_line(self, side: Side, at: int) -> str:
        """Return a line of either side; if the old text contains the line, its secrets become dots."""
        line = (self._diff.old if side == "old" else self._diff.new)[at]
        if self._is_free(side, at // _BLOCK):
            return line
        return self._key_lines.get(line) or self._dotted(line)

    def _looked_through(self, side: Side, block: int) -> bool:
        """Return whether no line of a block can hold a secret; for most blocks this is the only check."""
        lines = self._diff.old if side == "old" else self._diff.new
        return not self._has_keys and not _secrets().may_stand_in("".join(lines[block * _BLOCK : (block + 1) * _BLOCK]))

    def _dotted(self, line: str) -> str:
        covered = dotted(line)
        return covered if covered != line and line in self._lines else line

    @cached_property
    def _lines(self) -> frozenset[str]:
        return frozenset(self._diff.old)

    @cached_property
    def _has_keys(self) -> bool:
        """Whether the old text held keys that span several lines."""
        return _OVER_LINES in (self._diff.before or "")

    @cached_property
    def _key_lines(self) -> dict[str, str]:
        """The lines of keys that span several lines, each with its masked form."""
        if not self._has_keys:
            return {}
        pairs = zip(self._diff.old, split_lines(dotted(self._diff.before or "")), strict=True)
        return {line: covered for line, covered in pairs if covered != line}


def dotted(text: str) -> str:
    """Return the old text of a file with its secrets replaced by dots."""
    return _secrets().dotted(text)


@cache
def _secrets() -> SecretMasker:
    MASKER.add_all(os.environ)
    return MASKER
