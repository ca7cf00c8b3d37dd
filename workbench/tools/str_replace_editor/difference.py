"""How much two texts, or the bytes of two files, share at their ends; used by the edits and the undo steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import AnyStr

_BLOCK = 1 << 16
"""What is compared at a time stays in the processor's cache."""


def shared_ends(one: AnyStr, other: AnyStr) -> tuple[int, int]:
    """How many characters are the same at the beginning, and behind that at the end; the two never overlap."""
    head = shared_start(one, other)
    ends = len(one), len(other)

    def same(near: int, far: int) -> bool:
        return one[ends[0] - far : ends[0] - near] == other[ends[1] - far : ends[1] - near]

    return head, _longest(same, min(ends) - head)


def shared_start(one: AnyStr, other: AnyStr) -> int:
    """How many characters are the same at the beginning."""
    return _longest(lambda low, high: one[low:high] == other[low:high], min(len(one), len(other)))


def _longest(same: Callable[[int, int], bool], most: int) -> int:
    """Block by block, then by halving: to compare two slices is quick, to compare sign by sign is not."""
    low = 0
    while low + _BLOCK <= most and same(low, low + _BLOCK):
        low += _BLOCK
    high = min(low + _BLOCK, most)
    while low < high:
        middle = (low + high + 1) // 2
        if same(low, middle):
            low = middle
        else:
            high = middle - 1
    return low
