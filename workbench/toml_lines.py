"""Where a key stands in a TOML file, and the nearest name there is, for whoever reports a mistake in one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches


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


def near(name: str, known: Iterable[str]) -> str:
    """`; did you mean NAME?`, or nothing where no name is near."""
    found = get_close_matches(name, sorted(known), 1)
    return f"; did you mean {found[0]!r}?" if found else ""
