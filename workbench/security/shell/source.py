"""The text of a command line made ready and parsed; used by the scan."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

LONGEST = 10_000
"""Characters of a command line that is looked at at all."""
MOST_PIPES = 400
"""Pipes in it: the parser takes time with the square of them."""
MOST_NODES = 1_500
"""Parts of its syntax tree; more takes too long to look at."""

_CONTINUED = re.compile(r"(?<!\\)((?:\\\\)*)\\\n")
_CONTINUED_COMMENT = re.compile(r"(?:^|[\s;|&(){}])#[^\n]*\\\n")
_BACKTICKS = re.compile(r"`((?:[^`\\]|\\.)*)`", re.DOTALL)
_WORDS = re.compile(r"[^\s;&|(){}<>`\"'$=,\\]+")
_TAB_HEREDOC = re.compile(r"<<-\s*\\?[\"']?([\w.-]+)")


def joined(text: str) -> str:
    """The text without continued lines, which the parser misreads."""
    return _CONTINUED.sub(r"\1", text) if "\\\n" in text else text


def apart(text: str) -> str:
    """The text with its lines apart where one may end in a comment, which goes on in no other line; else nothing."""
    return text.replace("\\\n", "\n") if _CONTINUED_COMMENT.search(text) else ""


@cache
def _parser() -> Parser:
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


def parsed(source: bytes) -> Node:
    """The root of the syntax tree; tree-sitter makes one of anything."""
    return _parser().parse(source).root_node


def backticked(raw: str) -> list[str] | None:
    """The commands in live backticks of a text; None when the marks do not pair up."""
    found = [re.sub(r"\\([`$\\])", r"\1", inner) for inner in _BACKTICKS.findall(raw)]
    rest = _BACKTICKS.sub("", raw)
    return None if re.search(r"(?<!\\)`", rest) else found


def bare_words(text: str) -> set[str]:
    """All that may be the name of a command in a text that does not parse."""
    return {word.rsplit("/", 1)[-1] for word in _WORDS.findall(text)}


def lines_of_heredocs(text: str) -> list[str]:
    """The lines that follow a heredoc whose end the parser may misplace: they may be commands."""
    found = _TAB_HEREDOC.search(text)
    return text[found.end() :].split("\n")[1:] if found else []
