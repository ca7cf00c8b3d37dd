"""Finds the matches of a search in compared files, for the diff viewer to step through."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from workbench.diff.hunks import FileDiff
from workbench.view.diff.rows import Side

MOST_MATCHES: Final = 10_000


class Match(NamedTuple):
    """One match: its file (from 0), side and line, and its start and end in the line."""

    file: int
    side: Side
    line: int
    start: int
    end: int


def find(needle: str, diff: FileDiff, file: int = 0) -> list[Match]:
    """Return all matches of `needle` in a file, in the order in which its lines are shown.

    A capital letter in `needle` makes the search case-sensitive. A match in an unchanged line is returned once. At most
    MOST_MATCHES are returned.
    """
    if not needle:
        return []
    pattern = re.compile(re.escape(needle), 0 if needle != needle.lower() else re.IGNORECASE)
    if not (pattern.search(diff.before or "") or pattern.search(diff.after or "")):
        return []
    matches: list[Match] = []
    for side, first, end in _parts(diff):
        lines = diff.old if side == "old" else diff.new
        for line in range(first, end):
            matches += (Match(file, side, line, *match.span()) for match in pattern.finditer(lines[line]))
        if len(matches) >= MOST_MATCHES:
            break
    return matches[:MOST_MATCHES]


def _parts(diff: FileDiff) -> Iterator[tuple[Side, int, int]]:
    new = 0
    for hunk in diff.hunks:
        yield "new", new, hunk.new
        yield "old", hunk.old, hunk.old_end
        yield "new", hunk.new, hunk.new_end
        new = hunk.new_end
    yield "new", new, len(diff.new)
