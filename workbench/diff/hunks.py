"""The difference of two texts as hunks. Pure; the views of a diff and the counts of a changes list are made of it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from io import StringIO
from typing import NamedTuple

from workbench.diff.matching import Block, matching_blocks


def split_lines(text: str | None) -> list[str]:
    """The lines with their ends; only a newline ends a line, so joining them gives the text back."""
    return list(StringIO(text, newline="\n")) if text else []


class Hunk(NamedTuple):
    """Lines `old`..`old_end` of the old text became lines `new`..`new_end` (from 0, ends not included)."""

    old: int
    old_end: int
    new: int
    new_end: int


@dataclass(frozen=True)
class FileDiff:
    """One file before and after, `None` where it does not exist."""

    path: str
    before: str | None
    after: str | None
    old: list[str]
    new: list[str]
    hunks: tuple[Hunk, ...]
    note: str = ""
    """Why its lines are not shown."""

    @property
    def sign(self) -> str:
        """A (new), D (gone), M (changed) or = (the same)."""
        if self.before is None:
            return "A" if self.after is not None else "="
        if self.after is None:
            return "D"
        return "M" if self.hunks else "="

    @cached_property
    def added(self) -> int:
        """Lines that are new."""
        return sum(hunk.new_end - hunk.new for hunk in self.hunks)

    @cached_property
    def removed(self) -> int:
        """Lines that are gone."""
        return sum(hunk.old_end - hunk.old for hunk in self.hunks)

    @property
    def is_binary(self) -> bool:
        """Whether either side holds NUL, which text never does."""
        return "\0" in (self.before or "") or "\0" in (self.after or "")


def compare(path: str, before: str | None, after: str | None) -> FileDiff:
    """The difference of two texts; the time it takes is bounded whatever they are."""
    old, new = split_lines(before), split_lines(after)
    return FileDiff(path, before, after, old, new, tuple(_between(matching_blocks(old, new), len(old), len(new))))


def _between(blocks: list[Block], old_size: int, new_size: int) -> list[Hunk]:
    hunks = []
    old = new = 0
    for block in [*blocks, Block(old_size, new_size, 0)]:
        if block.old > old or block.new > new:
            hunks.append(Hunk(old, block.old, new, block.new))
        old, new = block.old + block.size, block.new + block.size
    return hunks


def taken(diff: FileDiff, chosen: Collection[int]) -> str:
    """The old text with only the `chosen` hunks (by index, from 0) in it."""
    parts: list[str] = []
    old = 0
    for index, hunk in enumerate(diff.hunks):
        parts += diff.old[old : hunk.old]
        parts += diff.new[hunk.new : hunk.new_end] if index in chosen else diff.old[hunk.old : hunk.old_end]
        old = hunk.old_end
    return "".join([*parts, *diff.old[old:]])
