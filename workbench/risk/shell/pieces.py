"""Pieces of the syntax tree read as bash would, where the parser reads them otherwise; used by the walk."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from workbench.risk.assessment import Part, shortened
from workbench.risk.shell.source import backticked
from workbench.risk.shell.words import Word

if TYPE_CHECKING:
    from tree_sitter import Node

    from workbench.risk.shell.scan import Scan

LEAVES = frozenset({"word", "string_content", "heredoc_content", "regex", "extglob_pattern", "number"})
_ANSI_STRING = re.compile(r"\$'(?:[^'\\]|\\.)*'", re.DOTALL)

_CUT_OFF = re.compile(r"\A(?:\d|\w+)")


def leaf(scan: Scan, node: Node) -> None:
    """A substitution in a text that the parser took for plain text."""
    raw = scan.reader.raw(node)
    if raw[:1] in {"\n", "\r"} and node.type == "word":
        scan.parts.append(Part(shortened(raw), "HIGH", "cannot be read with certainty"))
    live_backticks(scan, raw)
    if "$(" in raw.replace("\\$", ""):
        scan.parts.append(Part(shortened(raw), "HIGH", "holds a substitution that cannot be read"))


def ansi_string(scan: Scan, node: Node) -> None:
    """The parser does not know each escape in it, and may see its end where it goes on, or go on behind its end."""
    raw = scan.reader.raw(node)
    if not _ANSI_STRING.fullmatch(raw):
        scan.parts.append(Part(shortened(raw), "HIGH", "cannot be read with certainty"))


def live_backticks(scan: Scan, raw: str) -> None:
    """Rate the commands in backticks of a text."""
    if "`" not in raw:
        return
    inside = backticked(raw)
    for text in inside or ():
        scan.inner(text)
    if inside is None:
        scan.parts.append(Part(shortened(raw), "HIGH", "holds a substitution that cannot be read"))


def words_of(scan: Scan, nodes: Sequence[Node]) -> list[Word]:
    """The words of nodes; those without a blank between are one, whatever the parser took them for."""
    words: list[Word] = []
    end = -1
    for node in nodes:
        word = scan.reader.word(node)
        if node.start_byte == end and words:
            before = words.pop()
            before = before._replace(text="~") if before.raw == "~" else before
            if before.raw.endswith("$"):  # the name of the variable, which the parser has cut off
                word = word._replace(text=_CUT_OFF.sub("", word.text))
            parts = zip(before, word, strict=True)
            word = Word(*(one + other if isinstance(one, str) else one or other for one, other in parts))  # type: ignore[arg-type, operator]
        words.append(word)
        end = node.end_byte
    return words


def without_errors(node: Node) -> Iterator[Node]:
    """The children of a node; those of an error stand in its place."""
    for child in node.children:
        yield from child.children if child.type == "ERROR" else (child,)


def last_command(body: Node) -> Node | None:
    """The command that the redirects behind a list or pipeline belong to; None when they belong to a group."""
    while body.type in {"list", "pipeline", "negated_command"} and body.children:
        body = body.children[-1]
    return body if body.type == "command" else None


def between(scan: Scan, body: Node) -> str:
    """What stands in a heredoc around its expansions: the first piece is no node of its own."""
    pieces, at = [], body.start_byte
    for child in body.children:
        if child.type not in LEAVES:
            pieces.append(scan.reader.source[at : child.start_byte])
            at = child.end_byte
    pieces.append(scan.reader.source[at : body.end_byte])
    return b" ".join(pieces).decode(errors="replace")
