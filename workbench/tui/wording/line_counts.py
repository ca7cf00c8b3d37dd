"""How many lines two versions of a file differ by, for rows and cards; quick also for huge files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache

_EXACT_UP_TO = 4_000_000
"""Lines before times lines after, beyond which lines are counted without regard to their order."""


@lru_cache(maxsize=512)
def count_lines(before: str | None, after: str | None) -> tuple[int, int]:
    """Lines added and removed; `None` is a file that does not exist."""
    from workbench.diff.hunks import changed_lines

    old, new = trim_common(*changed_lines(before, after))[:2]
    if not old or not new:
        return len(new), len(old)
    if len(old) * len(new) > _EXACT_UP_TO:
        return (Counter(new) - Counter(old)).total(), (Counter(old) - Counter(new)).total()
    same = sum(block.size for block in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks())
    return len(new) - same, len(old) - same


def trim_common(old: Sequence[str], new: Sequence[str]) -> tuple[Sequence[str], Sequence[str], int]:
    """Both without the lines they share at the start and at the end, and how many were shared at the start."""
    shortest = min(len(old), len(new))
    start = next((at for at in range(shortest) if old[at] != new[at]), shortest)
    end = next((at for at in range(shortest - start) if old[-1 - at] != new[-1 - at]), shortest - start)
    return old[start : len(old) - end], new[start : len(new) - end], start
