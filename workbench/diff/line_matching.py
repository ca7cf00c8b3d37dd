"""Matches the equal lines of two texts: by difflib where that is cheap, otherwise by unique lines as anchors.

The work is bounded, so a diff of any two texts opens at once: parts that are too expensive to compare count as changed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import NamedTuple

_GAP_COST = 4_000_000
_WHOLE_COST = 24_000_000


class Block(NamedTuple):
    """`size` equal lines, starting at `old` and at `new` (both from 0)."""

    old: int
    new: int
    size: int


class _Range(NamedTuple):
    old: int
    old_end: int
    new: int
    new_end: int


def matching_blocks(old: Sequence[str], new: Sequence[str], head: int = 0, tail: int = 0) -> list[Block]:
    """Return the blocks of equal lines in order, merged if adjacent.

    The first `head` and the last `tail` lines of both texts are known to be equal.
    """
    inner = _Range(head, len(old) - tail, head, len(new) - tail)
    within = _Matcher(old, new).blocks(inner, anchored=True)
    ends = (Block(0, 0, head), Block(inner.old_end, inner.new_end, tail))
    return _joined(block for block in (ends[0], *within, ends[1]) if block.size)


class _Matcher:
    """One comparison and its remaining budget of work."""

    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        self.old = old
        self.new = new
        self.budget = _WHOLE_COST

    def blocks(self, part: _Range, *, anchored: bool) -> Iterator[Block]:
        head = self._same_head(part)
        if head:
            yield Block(part.old, part.new, head)
        inner = _Range(part.old + head, part.old_end, part.new + head, part.new_end)
        tail = self._same_tail(inner)
        inner = _Range(inner.old, inner.old_end - tail, inner.new, inner.new_end - tail)
        yield from self._inner(inner, anchored=anchored)
        if tail:
            yield Block(inner.old_end, inner.new_end, tail)

    def _inner(self, part: _Range, *, anchored: bool) -> Iterator[Block]:
        sizes = part.old_end - part.old, part.new_end - part.new
        if not min(sizes) or sizes == (1, 1):  # two equal single lines would be part of the head
            return
        olds, news = self.old[part.old : part.old_end], self.new[part.new : part.new_end]
        common = len(set(olds).intersection(news))
        if not common:
            return
        most = min(_GAP_COST, self.budget)
        # The product is a lower bound of the cost, which takes long to compute.
        is_costly = (len(olds) + common) * (common + 1) > most
        cost = most + 1 if is_costly else _cost(olds, news)
        if cost <= most:
            self.budget -= cost
            for match in SequenceMatcher(None, olds, news, autojunk=False).get_matching_blocks()[:-1]:
                yield Block(part.old + match.a, part.new + match.b, match.size)
        elif anchored:
            yield from self._between_anchors(part)

    def _between_anchors(self, part: _Range) -> Iterator[Block]:
        old, new = part.old, part.new
        for anchor_old, anchor_new in [*_anchors(self.old, self.new, part), (part.old_end, part.new_end)]:
            if anchor_old > old and anchor_new > new and not self._is_one_changed(old, anchor_old, new, anchor_new):
                yield from self.blocks(_Range(old, anchor_old, new, anchor_new), anchored=False)
            if anchor_old < part.old_end:
                yield Block(anchor_old, anchor_new, 1)
            old, new = anchor_old + 1, anchor_new + 1

    def _is_one_changed(self, old: int, old_end: int, new: int, new_end: int) -> bool:
        """Return whether exactly one line was replaced with one other line; this is the most frequent case, and needs
        no search.
        """
        return old_end - old == new_end - new == 1 and self.old[old] != self.new[new]

    def _same_head(self, part: _Range) -> int:
        old, new = part.old, part.new
        while old < part.old_end and new < part.new_end and self.old[old] == self.new[new]:
            old, new = old + 1, new + 1
        return old - part.old

    def _same_tail(self, part: _Range) -> int:
        old, new = part.old_end, part.new_end
        while old > part.old and new > part.new and self.old[old - 1] == self.new[new - 1]:
            old, new = old - 1, new - 1
        return part.old_end - old


def _cost(old: Sequence[str], new: Sequence[str]) -> int:
    """Return an upper bound of difflib's steps: it scans all equal pairs once for each block it finds."""
    counts = Counter(new)
    pairs = sum(counts[line] for line in old)
    return (len(old) + pairs) * (min(len(old), len(new), pairs) + 1)


def _anchors(old: Sequence[str], new: Sequence[str], part: _Range) -> list[tuple[int, int]]:
    """Return the positions, in both texts, of lines that occur once in each: the longest series in the same order."""
    olds, news = _once(old, part.old, part.old_end), _once(new, part.new, part.new_end)
    return _longest_rising([(index, news[line]) for line, index in olds.items() if line in news])


def _once(lines: Sequence[str], start: int, end: int) -> dict[str, int]:
    last = dict(zip(lines[start:end], range(start, end), strict=True))
    if len(last) == end - start:
        return last
    counts = Counter(lines[start:end])
    return {lines[index]: index for index in range(start, end) if counts[lines[index]] == 1}


def _longest_rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    if all(one[1] < next_[1] for one, next_ in pairwise(pairs)):  # the usual case: nothing was moved
        return pairs
    ends: list[int] = []  # smallest last `new` of a sequence of each length
    last: list[int] = []  # the index of its pair
    before: list[int] = []
    for index, (_, new) in enumerate(pairs):
        length = bisect_left(ends, new)
        before.append(last[length - 1] if length else -1)
        if length == len(ends):
            ends.append(new)
            last.append(index)
        else:
            ends[length], last[length] = new, index
    series: list[tuple[int, int]] = []
    at = last[-1] if last else -1
    while at >= 0:
        series.append(pairs[at])
        at = before[at]
    return series[::-1]


def _joined(blocks: Iterator[Block]) -> list[Block]:
    joined: list[Block] = []
    old = new = size = 0
    for block in blocks:
        if size and old + size == block.old and new + size == block.new:
            size += block.size
            continue
        if size:
            joined.append(Block(old, new, size))
        old, new, size = block
    return [*joined, Block(old, new, size)] if size else joined
