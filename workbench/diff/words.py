"""The changed words within a changed line, and the pairing of removed and added lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from workbench.lazy_pattern import lazy_pattern

Spans = list[tuple[int, int]]
_WORD = lazy_pattern(r"\w+|\s+|.", re.DOTALL)
_MOST_WORDS = 300
_MOST_PAIRS = 200
_ALIKE = 0.4


def changed_words(old: str, new: str) -> tuple[Spans, Spans]:
    """Return the changed spans (start, end) of each line; empty if the lines have too little in common."""
    olds, news = _WORD.findall(old), _WORD.findall(new)
    if max(len(olds), len(news)) > _MOST_WORDS:
        return _span_between_common_ends(old, new)
    matcher = SequenceMatcher(None, olds, news, autojunk=False)
    blocks = [(block.a, block.b, block.size) for block in matcher.get_matching_blocks()]
    same = sum(len("".join(olds[a : a + size]).strip()) for a, _, size in blocks)
    if same < _ALIKE * min(len(old.strip()), len(new.strip())):
        return [], []
    codes = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    return (
        _spans(olds, [(first, end) for _, first, end, _, _ in codes]),
        _spans(news, [(first, end) for _, _, _, first, end in codes]),
    )


def _spans(words: Sequence[str], ranges: list[tuple[int, int]]) -> Spans:
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word))
    return [(starts[first], starts[end]) for first, end in ranges if end > first]


def _span_between_common_ends(old: str, new: str) -> tuple[Spans, Spans]:
    most = min(len(old), len(new))
    head = next((at for at in range(most) if old[at] != new[at]), most)
    tail = next((at for at in range(most - head) if old[-1 - at] != new[-1 - at]), most - head)
    return [(head, len(old) - tail)], [(head, len(new) - tail)]


def line_pairs(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Return pairs of an old line and the new line that replaced it, by index and in order.

    Lines are paired by similarity, or by position if both lists have the same length or are too long to compare.
    """
    if is_paired_by_order(len(old), len(new)):
        return [(index, index) for index in range(min(len(old), len(new)))]
    pairs: list[tuple[int, int]] = []
    start = 0
    for index, line in enumerate(old):
        rest = range(start, len(new))
        best = max(rest, key=lambda at: _likeness(line, new[at]), default=-1)
        if best >= 0 and _likeness(line, new[best]) > _ALIKE:
            pairs.append((index, best))
            start = best + 1
    return pairs


def is_paired_by_order(old: int, new: int) -> bool:
    """Return whether lists of `old` and `new` lines are paired by position alone."""
    return old == new or old * new > _MOST_PAIRS


def _likeness(old: str, new: str) -> float:
    if not old.strip() or not new.strip():
        return 0.0
    return SequenceMatcher(None, old.strip()[:200], new.strip()[:200], autojunk=False).quick_ratio()
