"""The difference of two texts as hunks, on which all diff views and the counts in lists of changes are based."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property
from io import StringIO
from typing import NamedTuple

from workbench.diff.line_matching import Block, matching_blocks

_BLOCK = 1 << 16
"""How many characters are compared at a time."""


def split_lines(text: str | None) -> list[str]:
    """Return the lines with their line ends. Only a newline ends a line, so joining the lines restores the text."""
    return list(StringIO(text, newline="\n")) if text else []


class CommonEnds(NamedTuple):
    """The number of characters, in whole lines, that are the same at the beginning and at the end of two texts."""

    head: int
    tail: int


def common_ends(before: str, after: str) -> CommonEnds:
    """Return how much of two texts is the same at both ends, in whole lines; fast for huge files."""
    size = min(len(before), len(after))
    same = _same_length(size, lambda at, end: before.startswith(after[at:end], at))
    head = before.rfind("\n", 0, same) + 1
    old, new = len(before), len(after)
    same = _same_length(size - head, lambda at, end: before.startswith(after[new - end : new - at], old - end))
    line = before.find("\n", old - same) + 1 if same else 0
    return CommonEnds(head, old - line if line else 0)


def _same_length(size: int, is_same: Callable[[int, int], bool]) -> int:
    """Return how many of `size` characters precede the first difference; `is_same` compares a range of offsets."""
    at = 0
    while at < size and is_same(at, min(at + _BLOCK, size)):
        at = min(at + _BLOCK, size)
    end = min(at + _BLOCK, size)
    while at < end:  # the first difference lies in this block
        half = (at + end + 1) // 2
        at, end = (half, end) if is_same(at, half) else (at, half - 1)
    return at


def changed_lines(before: str | None, after: str | None) -> tuple[list[str], list[str]]:
    """Return the lines of both texts between their common ends."""
    old, new = before or "", after or ""
    ends = common_ends(old, new)
    return split_lines(old[ends.head : len(old) - ends.tail]), split_lines(new[ends.head : len(new) - ends.tail])


class Hunk(NamedTuple):
    """Lines `old`..`old_end` of the old text became lines `new`..`new_end` (from 0, ends not included)."""

    old: int
    old_end: int
    new: int
    new_end: int


@dataclass(frozen=True)
class FileDiff:
    """One file before and after a change; `before` or `after` is None where the file does not exist."""

    path: str
    before: str | None
    after: str | None
    old: list[str]
    new: list[str]
    hunks: tuple[Hunk, ...]
    note: str = ""
    """Why the lines are not shown; empty if they are."""

    @property
    def sign(self) -> str:
        """A (added), D (deleted), M (modified) or = (the same)."""
        if self.before is None:
            return "A" if self.after is not None else "="
        if self.after is None:
            return "D"
        return "M" if self.hunks else "="

    @cached_property
    def added(self) -> int:
        """The number of lines of the new text that are in hunks."""
        return sum(hunk.new_end - hunk.new for hunk in self.hunks)

    @cached_property
    def removed(self) -> int:
        """The number of lines of the old text that are in hunks."""
        return sum(hunk.old_end - hunk.old for hunk in self.hunks)

    @property
    def is_binary(self) -> bool:
        """Whether either side contains NUL, which text never does."""
        return "\0" in (self.before or "") or "\0" in (self.after or "")


def compare(path: str, before: str | None, after: str | None) -> FileDiff:
    """Return the difference of two texts; its running time is bounded for any input."""
    old, ends = split_lines(before), common_ends(before or "", after or "")
    head, tail = _lines_in(before or "", 0, ends.head), _lines_in(before or "", len(before or "") - ends.tail, None)
    changed = split_lines((after or "")[ends.head : len(after or "") - ends.tail])
    new = [*old[:head], *changed, *old[len(old) - tail :]]  # the shared lines are split once
    blocks = matching_blocks(old, new, head, tail)
    return FileDiff(path, before, after, old, new, tuple(_between(blocks, len(old), len(new))))


def _lines_in(text: str, start: int, end: int | None) -> int:
    """Return the number of lines in a part of a text; the part consists of whole lines."""
    is_open = len(text) > start and (end is None or end > start) and not text.endswith("\n", start, end)
    return text.count("\n", start, end) + is_open


def _between(blocks: list[Block], old_size: int, new_size: int) -> list[Hunk]:
    hunks = []
    old = new = 0
    for block in [*blocks, Block(old_size, new_size, 0)]:
        if block.old > old or block.new > new:
            hunks.append(Hunk(old, block.old, new, block.new))
        old, new = block.old + block.size, block.new + block.size
    return hunks


def taken(diff: FileDiff, chosen: Collection[int]) -> str:
    """Return the old text with only the `chosen` hunks (by index, from 0) applied."""
    parts: list[str] = []
    old = 0
    for index, hunk in enumerate(diff.hunks):
        parts += diff.old[old : hunk.old]
        parts += diff.new[hunk.new : hunk.new_end] if index in chosen else diff.old[hunk.old : hunk.old_end]
        old = hunk.old_end
    return "".join([*parts, *diff.old[old:]])
