"""Where a key stands in a TOML file, and the nearest name there is, for whoever reports a mistake in one.

Tools, rules and the prompt tell of a name with a slip in it by the same `nearest`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from difflib import SequenceMatcher, get_close_matches

_PLACE = re.compile(r"\(at line (\d+), column (\d+)\)")
_REASONS = {
    "Invalid value": 'no value can be read here; text stands in quotes, as in name = "text"',
    "Expected '='": "a name is followed by = and its value",
    "Expected newline": "something is left over behind the value",
    "Invalid statement": "a line is name = value or [table]",
    "Invalid initial character": "a name is missing; a line is name = value or [table]",
    "Illegal character": "a quote is not closed, or a character may not stand here",
    "Unterminated string": "a quote is not closed",
    'Expected "\'"': "a quote is not closed",
    "Expected '\"'": "a quote is not closed",
    "Unclosed": "a bracket is not closed",
    "Expected ']'": "a bracket is not closed",
    "Cannot overwrite": "this name is set a second time",
    "Duplicate": "this name is set a second time",
    "Cannot declare": "this table stands here a second time",
    "Unescaped": "a backslash stands twice in text, or the text in single quotes",
}
"""How the parser's messages begin, and the same for a person."""


def line_of(key: str, text: str, table: str = "") -> int:
    """The line that sets a key of the file's head, or of one of its tables; 1 where it cannot be found."""
    inside = ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[\s*([^\]]*?)\s*\]", line):
            inside = header[1].replace('"', "")
            if inside == (f"{table}.{key}" if table else key) or (not table and inside.startswith(f"{key}.")):
                return number
        elif inside == table and re.match(rf"""\s*["']?{re.escape(key)}["']?\s*[.=]""", line):
            return number
    return 1


def near(name: str, known: Iterable[str], least: float = 0.6) -> str:
    """`; did you mean NAME?`, or nothing where no name is near."""
    found = nearest(name, known, least)
    return f"; did you mean {found!r}?" if found else ""


def nearest(name: str, known: Iterable[str], least: float = 0.6) -> str:
    """The name that the fewest slips of the fingers lead away from; of those, the one of the same letters.

    `least` says how alike it must be at least, from 0 (not at all) to 1; empty where none is.
    """
    plain = {each.casefold(): each for each in known}
    meant = name.casefold()

    def rank(other: str) -> tuple[int, bool, float, str]:
        alike = SequenceMatcher(None, meant, other).ratio()
        return _slips(meant, other), sorted(meant) != sorted(other), -alike, other

    found = min(get_close_matches(meant, plain, max(1, len(plain)), least), key=rank, default="")
    return plain.get(found, "")


def _slips(one: str, other: str) -> int:
    """Letters too many, missing, wrong, or changed with their neighbour (Damerau-Levenshtein, each place once)."""
    before: list[int] = []
    above = list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        now = [row]
        for column, wanted in enumerate(other, 1):
            fewest = min(above[column] + 1, now[-1] + 1, above[column - 1] + (letter != wanted))
            if column > 1 < row and letter == other[column - 2] and wanted == one[row - 2]:
                fewest = min(fewest, before[column - 2] + 1)
            now.append(fewest)
        before, above = above, now
    return above[-1]


def broken(error: tomllib.TOMLDecodeError, text: str) -> tuple[int, str]:
    """The line where a file stops being TOML, and what to look for there."""
    said = str(error)
    line, column = map(int, found.groups()) if (found := _PLACE.search(said)) else (len(text.splitlines()) or 1, 0)
    reason = next((ours for theirs, ours in _REASONS.items() if said.startswith(theirs)), "this is no TOML")
    return line, f"{reason} (at character {column} of the line)" if column else f"{reason} (at the end of the file)"
