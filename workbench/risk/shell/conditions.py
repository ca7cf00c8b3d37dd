"""Find the files that `[ … ]`, `[[ … ]]` and `test` examine; rules on paths count them as read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from workbench.lazy_pattern import lazy_pattern
from workbench.risk.word import UNKNOWN, Word, literal

if TYPE_CHECKING:
    from tree_sitter import Node

    from workbench.risk.shell.scan import Scan

_LOOKS_AT = frozenset(f"-{letter}" for letter in "abcdefghkprsuwxGLNOS")
"""Operators before the name of a file."""
_COMPARES_FILES = frozenset({"-nt", "-ot", "-ef"})
_BEFORE_OPERATOR = frozenset({"", "[", "[[", "!", "(", "&&", "||", "-a", "-o"})
_OPERATOR = lazy_pattern(r"-[A-Za-z]+|[=!<>]=?|=~|\]\]?|\)|&&|\|\|")
_PROGRAM = lazy_pattern(r'"?\$\((?:command -v|which|type -[pP]) [\w.+-]+(?: 2>\s*/dev/null)?\)"?')
"""Matches a word that is the path of a program, as in `[ -x "$(command -v git)" ]`."""


def files_tested(scan: Scan, words: Sequence[Word]) -> tuple[tuple[str, ...], bool]:
    """Return the paths that a test with these words examines, and whether it examines any unknown path."""
    paths = [scan.absolute(word) for word in _files(words) if not _PROGRAM.fullmatch(word.raw)]
    return tuple(path for path in paths if path is not None), None in paths


def _files(words: Sequence[Word]) -> Iterator[Word]:
    end = literal("")
    for before, word, following in zip((end, *words), words, (*words[1:], end), strict=False):
        if following is not end and _is_operator(before, word, following):
            yield following
        if word.text in _COMPARES_FILES:
            yield from (each for each in (before, following) if each is not end)


def _is_operator(before: Word, word: Word, following: Word) -> bool:
    """Return whether a word is, or may stand for, an operator before the name of a file."""
    if word.text == "-a":  # after an operand it means "and"
        return before.text in _BEFORE_OPERATOR
    return word.text in _LOOKS_AT or (UNKNOWN in word.text and not _OPERATOR.fullmatch(following.text))


def words_tested(scan: Scan, node: Node) -> Iterator[Word]:
    """Yield the operators and operands of a test in order."""
    for child in node.children:
        raw = scan.reader.raw(child)
        if raw.startswith("~") and child.type == "unary_expression":  # the parser takes the tilde for an operator
            yield scan.reader.tilde_path(raw)
        elif child.type.endswith("_expression"):
            yield from words_tested(scan, child)
        elif child.is_named and child.type != "test_operator":
            yield scan.reader.word(child)
        else:
            yield literal(raw)
