"""Follows the lines of a file back through its earlier states, by content, to the state that introduced each line.

If a change restores a line that was removed before, the line is followed from its removal: what a rebase, a stash, a
revert or a rewind restores, and what an edit moves, still belongs to whoever wrote it first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from workbench.diff.hunks import common_ends, split_lines
from workbench.diff.line_matching import Block, matching_blocks

_SIGNIFICANT: Final = 12
"""The fewest letters and digits that lines must have together to be recognized elsewhere; a lone brace has too few."""
_NONE: Final = -1


class _Changed(NamedTuple):
    """The lines in which two states differ, without their line ends; `head` equal lines precede them."""

    head: int
    old: list[str]
    new: list[str]
    blocks: list[Block]
    """The equal lines among `old` and `new`, counted from their start."""


class LineTracer:
    """Traces the lines of a file's last state back through its earlier states."""

    def __init__(self, keys: Sequence[str], text_of: Callable[[int], str]) -> None:
        """`keys` identify the states from the oldest to the last; equal keys mean equal texts.

        `text_of` returns the text of the state with an index; it is called for one state after the other, the last one
        first.
        """
        self._keys = keys
        self._text_of = text_of
        self._read = (0, "")
        """The index of the state that was read last, and its text."""
        self._first: dict[str, int] = {}
        for index, key in enumerate(keys):
            self._first.setdefault(key, index)
        self._lines = [_stripped(line) for line in split_lines(text_of(len(keys) - 1))]
        self._contents = frozenset(self._lines)
        self._live: dict[int, list[int]] = {len(keys) - 1: list(range(len(self._lines)))}
        """By index of a state still to be visited: for each of its lines, the number of the traced line there, or
        _NONE.
        """
        self._pending: dict[int, str] = {}
        """By number, the traced lines that a visited change introduced; an older state may turn out to have them too.
        """

    def origins(self) -> list[int]:
        """Return, for each line, the index of the state that introduced it; 0 is the oldest state."""
        origins = [0] * len(self._lines)
        for index in range(len(self._keys) - 1, 0, -1):
            live = self._live.pop(index, None)
            if live is not None and self._first[self._keys[index]] < index:
                self._join(self._first[self._keys[index]], live)
                live = None
            if live is not None or self._pending:
                self._step(index, live, origins)
            elif not self._live:
                break
        return origins

    def _step(self, index: int, live: list[int] | None, origins: list[int]) -> None:
        """Follow the lines of the state `index` to the state before it."""
        text = self._read[1] if self._read[0] == index else self._text_of(index)
        before = self._text_of(index - 1)
        self._read = index - 1, before
        changed = _compared(before, text)
        older: list[int] = []
        if live is not None:
            older = self._matched(changed, live)
            for line in self._introduced(changed, live):
                origins[line] = index
                self._pending[line] = self._lines[line]
        claims = self._claims(changed) if self._pending else {}
        if claims and not older:
            older = [_NONE] * len(split_lines(before))
        for at, line in claims.items():
            older[at], origins[line] = line, 0
            del self._pending[line]
        if any(line != _NONE for line in older):
            self._join(index - 1, older)

    def _join(self, index: int, lines: list[int]) -> None:
        others = self._live.get(index)
        if others is not None:
            lines = [one if one != _NONE else other for one, other in zip(lines, others, strict=True)]
        self._live[index] = lines

    @staticmethod
    def _matched(changed: _Changed, live: list[int]) -> list[int]:
        """Return, for each line of the older state, the number of the traced line there, or _NONE."""
        inner = [_NONE] * len(changed.old)
        for old, new, size in changed.blocks:
            inner[old : old + size] = live[changed.head + new : changed.head + new + size]
        return [*live[: changed.head], *inner, *live[changed.head + len(changed.new) :]]

    @staticmethod
    def _introduced(changed: _Changed, live: list[int]) -> list[int]:
        """Return the numbers of the traced lines that the older state does not have."""
        inner = live[changed.head : changed.head + len(changed.new)]
        for _, new, size in changed.blocks:
            inner[new : new + size] = [_NONE] * size
        return [line for line in inner if line != _NONE]

    def _claims(self, changed: _Changed) -> dict[int, int]:
        """Return the numbers of the pending lines that the change removed, by their position in the older state."""
        removed = dict(enumerate(changed.old))
        for old, _, size in changed.blocks:
            for at in range(old, old + size):
                del removed[at]
        positions = [at for at, line in removed.items() if line in self._contents]
        lines = [removed[at] for at in positions]
        if not _is_significant(lines):
            return {}
        numbers = sorted(self._pending)
        pending = [self._pending[number] for number in numbers]
        claims: dict[int, int] = {}
        for old, new, size in matching_blocks(lines, pending):
            if _is_significant(lines[old : old + size]):
                claims |= dict(zip(positions[old : old + size], numbers[new : new + size], strict=True))
        return {changed.head + at: line for at, line in claims.items()}


def _compared(before: str, text: str) -> _Changed:
    ends = common_ends(before, text)
    old = [_stripped(line) for line in split_lines(before[ends.head : len(before) - ends.tail])]
    new = [_stripped(line) for line in split_lines(text[ends.head : len(text) - ends.tail])]
    return _Changed(text.count("\n", 0, ends.head), old, new, matching_blocks(old, new))


def _stripped(line: str) -> str:
    return line.rstrip("\r\n")


def _is_significant(lines: Sequence[str]) -> bool:
    return sum(sign.isalnum() for line in lines for sign in line) >= _SIGNIFICANT
