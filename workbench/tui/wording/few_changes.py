"""The first changed lines of an edit for a card; the diff viewer has the whole."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import islice

from workbench.diff.hunks import changed_lines
from workbench.tui.wording.line_counts import trim_common

_EXACT_UP_TO = 1_000_000


@lru_cache(maxsize=128)
def first_changes(before: str | None, after: str | None, limit: int) -> tuple[tuple[str, str], ...]:
    """At most `limit` pairs of a sign (`+` or `−`) and a line, in the order of the file."""
    old, new, _ = trim_common(*changed_lines(before, after))
    if len(old) * len(new) > _EXACT_UP_TO:
        old, new = old[:500], new[:500]
    return tuple(islice(_changes(list(old), list(new)), limit))


def _changes(old: list[str], new: list[str]) -> Iterator[tuple[str, str]]:
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for tag, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        if tag != "equal":
            yield from (("−", line.removesuffix("\n")) for line in old[old_from:old_to])
            yield from (("+", line.removesuffix("\n")) for line in new[new_from:new_to])
