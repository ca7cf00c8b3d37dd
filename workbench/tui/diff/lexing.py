"""Syntax of a file, line by line and only as far as somebody looks; the names it gives are styles of the diff view."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # pygments is loaded when the first file is painted, not with the screen
    from pygments.lexer import Lexer

_MOST_SIGNS = 400_000
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
"""Names of pygments' token kinds, and the style of each kind and of all below it."""


class SyntaxSpan(NamedTuple):
    """Signs `start`..`end` of a line have the style `name`."""

    start: int
    end: int
    name: str


class Lexed:
    """The syntax of one text; lines it has not reached yet, or never will, have none."""

    def __init__(self, path: str, text: str | None) -> None:
        self._lines: list[list[SyntaxSpan]] = [[]]
        self._tokens = _tokens(path, text or "")
        self.is_done = False

    def reach(self, line: int) -> None:
        """Go on until the syntax of `line` (from 0) is known."""
        while not self.is_done and len(self._lines) <= line + 1:
            token = next(self._tokens, None)
            if token is None:
                self.is_done = True
            else:
                self._add(*token)

    def line(self, line: int) -> list[SyntaxSpan]:
        """The spans of one line, as far as they are known."""
        return self._lines[line] if line < len(self._lines) else []

    @property
    def reached(self) -> int:
        """How many lines are known."""
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
    """Column, style and text of each token; nothing for texts that are too big or of no known kind."""
    lexer = _lexer_for(PurePath(path).name) if 0 < len(text) <= _MOST_SIGNS else None
    if lexer is None or max(map(len, text.split("\n"))) > _LONGEST_LINE:
        return
    line_start = 0
    for place, kind, piece in lexer.get_tokens_unprocessed(text):
        yield place - line_start, _style_of(kind), piece
        newline = piece.rfind("\n")
        if newline >= 0:
            line_start = place + newline + 1


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
