"""Lengths of the common prefix and suffix of two strings or byte strings, for edits and undo steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import AnyStr

_BLOCK = 1 << 16
"""Length of the slices that are compared, which fit into the processor's cache."""


def shared_ends(one: AnyStr, other: AnyStr) -> tuple[int, int]:
    """Return the lengths of the common prefix and of the common suffix, which do not overlap."""
    head = shared_start(one, other)
    ends = len(one), len(other)

    def same(near: int, far: int) -> bool:
        return one[ends[0] - far : ends[0] - near] == other[ends[1] - far : ends[1] - near]

    return head, _longest(same, min(ends) - head)


def shared_start(one: AnyStr, other: AnyStr) -> int:
    """Return the length of the common prefix."""
    return _longest(lambda low, high: one[low:high] == other[low:high], min(len(one), len(other)))


def _longest(same: Callable[[int, int], bool], most: int) -> int:
    """Return the greatest length, at most `most`, up to which `same` is true for every slice.

    Slices are compared, first by blocks and then by bisection, because comparing characters is much slower.
    """
    low = 0
    while low + _BLOCK <= most and same(low, low + _BLOCK):
        low += _BLOCK
    high = min(low + _BLOCK, most)
    while low < high:
        mid = (low + high + 1) // 2
        if same(low, mid):
            low = mid
        else:
            high = mid - 1
    return low
