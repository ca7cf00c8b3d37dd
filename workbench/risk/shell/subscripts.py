"""Texts that bash runs when it reckons with them: `a[$(command)]` as the value of a variable or an argument."""

from __future__ import annotations

import re
from collections.abc import Iterable

from workbench.risk.shell.words import UNKNOWN, Word, ansi_text

RUNS = "runs a command in a subscript"
_NO_QUOTES = str.maketrans("", "", "'\"\\")
_INSIDE = re.compile(r"\[.*(?:\$\(|`|\$\{)", re.DOTALL)
_SECOND_HALF = re.compile(rf"(?:\A|{UNKNOWN})\(.*\)\s*\]", re.DOTALL)
_QUOTED = re.compile(r"\$?'(?:\\.|[^'\\])*'|'[^']*'|\"(?:\\.|[^\"\\])*\"", re.DOTALL)
_LITERAL_IN_DOUBLE = re.compile(r"\[.*\\(?:\$\(|\$\{|`)", re.DOTALL)
_LITERAL_LINES = re.compile(r"<<-?\s*['\"\\].*", re.DOTALL)


def holds_command(text: str) -> bool:
    """Whether a text, its quotes removed, is a subscript with a command, or the second half of one."""
    return ("[" in text or "(" in text) and bool(_INSIDE.search(text) or _SECOND_HALF.search(text))


def any_holds_command(words: Iterable[Word]) -> bool:
    """Whether one of the words does."""
    return any(holds_command(word.text) for word in words)


def quotes_command(raw: str) -> bool:
    """Whether such a text stands quoted somewhere in a piece of source, in one piece or in several."""
    if "[" not in raw:
        return False
    bare = raw.translate(_NO_QUOTES)
    if bare.count("$(") > raw.count("$(") and _INSIDE.search(bare):
        return True
    return any(_is_live(found[0]) for found in _QUOTED.finditer(raw)) or any(
        _INSIDE.search(found[0]) for found in _LITERAL_LINES.finditer(raw)
    )


def _is_live(quoted: str) -> bool:
    if quoted.startswith("$"):
        return bool(_INSIDE.search(ansi_text(quoted[2:-1])))
    return bool((_LITERAL_IN_DOUBLE if quoted.startswith('"') else _INSIDE).search(quoted))
