"""Where a key stands in a TOML file, and where one stops being TOML; for whoever reports a mistake in one."""

from __future__ import annotations

import re
import tomllib

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


def broken(error: tomllib.TOMLDecodeError, text: str) -> tuple[int, str]:
    """The line where a file stops being TOML, and what to look for there."""
    said = str(error)
    line, column = map(int, found.groups()) if (found := _PLACE.search(said)) else (len(text.splitlines()) or 1, 0)
    reason = next((ours for theirs, ours in _REASONS.items() if said.startswith(theirs)), "this is no TOML")
    return line, f"{reason} (at character {column} of the line)" if column else f"{reason} (at the end of the file)"
