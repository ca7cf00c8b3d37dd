"""Syntax of a file, line by line and only as far as somebody looks; the names it gives are styles of the diff view."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import NamedTuple

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_for_filename
from pygments.token import Token, _TokenType
from pygments.util import ClassNotFound

_MOST_SIGNS = 400_000
_LONGEST_LINE = 2_000
_STYLES: dict[_TokenType, str] = {
    Token.Comment: "comment",
    Token.Keyword: "keyword",
    Token.Operator.Word: "keyword",
    Token.Literal.String: "string",
    Token.Literal.String.Doc: "comment",
    Token.Literal.Number: "number",
    Token.Name.Builtin: "builtin",
    Token.Name.Class: "definition",
    Token.Name.Function: "definition",
    Token.Name.Decorator: "builtin",
    Token.Name.Tag: "keyword",
    Token.Name.Attribute: "builtin",
}


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
    lexer = _lexer_for(path) if 0 < len(text) <= _MOST_SIGNS else None
    if lexer is None or any(len(line) > _LONGEST_LINE for line in text.split("\n")):
        return
    line_start = 0
    for place, kind, piece in lexer.get_tokens_unprocessed(text):
        yield place - line_start, _style_of(kind), piece
        newline = piece.rfind("\n")
        if newline >= 0:
            line_start = place + newline + 1


def _lexer_for(path: str) -> Lexer | None:
    try:
        return get_lexer_for_filename(PurePath(path).name)
    except ClassNotFound:
        return None


def _style_of(kind: _TokenType) -> str:
    at: _TokenType | None = kind
    while at is not None:
        if at in _STYLES:
            return _STYLES[at]
        at = at.parent
    return ""
