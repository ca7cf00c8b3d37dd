"""Where vim's motions lead in a text, as offsets; pure, used by `vim`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

Motion = Callable[[str, int, int], int]
"""From the text, the place and a count to another place."""


def row_and_column(text: str, at: int) -> tuple[int, int]:
    """The offset as the text area counts."""
    return text.count("\n", 0, at), at - start_of_line(text, at)


def offset_of(text: str, row: int, column: int) -> int:
    """The place of a row and column in the whole text."""
    return sum(len(line) + 1 for line in text.split("\n")[:row]) + column


def start_of_line(text: str, at: int) -> int:
    """The place of the line's first sign."""
    return text.rfind("\n", 0, at) + 1


def end_of_line(text: str, at: int) -> int:
    """The place behind the line's last sign."""
    found = text.find("\n", at)
    return len(text) if found < 0 else found


def rest_in_normal(text: str, at: int) -> int:
    """The nearest place where the cursor may stand in normal mode: on a sign, where the line has one."""
    at = max(0, min(at, len(text)))
    start, end = start_of_line(text, at), end_of_line(text, at)
    return max(start, min(at, end - 1))


def line_bounds(text: str, at: int, count: int, motion: str) -> tuple[int, int]:
    """The lines from here on, or those up to the first or the last one, without the last line break."""
    start, end = start_of_line(text, at), end_of_line(text, at)
    if motion == "gg":
        return 0, end
    if motion == "G":
        return start, len(text)
    for _ in range(count - 1):
        end = end_of_line(text, end + 1) if end < len(text) else end
    return start, end


def range_of(motion: str, text: str, at: int, count: int, *, is_change: bool) -> tuple[int, int]:
    """The signs between here and where a motion leads; a word's range ends with its line."""
    if motion == "w" and is_change and at < len(text) and not text[at].isspace():
        motion = "e"
    there = MOTIONS[motion](text, at, count)
    if motion == "e":
        return at, min(there + 1, len(text))
    if motion == "w":
        return at, min(there, end_of_line(text, at)) if count == 1 else there
    if motion in "$l":
        return at, min(there + (motion == "$"), end_of_line(text, at))
    return min(at, there), max(at, there)


def _kind(sign: str) -> int:
    return 0 if sign.isspace() else 1 if sign.isalnum() or sign == "_" else 2


def _word(text: str, at: int) -> int:
    """The start of the next word."""
    kind = _kind(text[at]) if at < len(text) else 0
    while at < len(text) and kind and _kind(text[at]) == kind:
        at += 1
    while at < len(text) and not _kind(text[at]):
        at += 1
    return at


def _word_end(text: str, at: int) -> int:
    """The last sign of this word, or of the next one."""
    at += 1
    while at < len(text) and not _kind(text[at]):
        at += 1
    while at + 1 < len(text) and _kind(text[at + 1]) == _kind(text[at]):
        at += 1
    return min(at, max(0, len(text) - 1))


def _word_back(text: str, at: int) -> int:
    """The start of this word, or of the one before."""
    at -= 1
    while at > 0 and not _kind(text[at]):
        at -= 1
    while at > 0 and _kind(text[at - 1]) == _kind(text[at]):
        at -= 1
    return max(0, at)


def _often(step: Callable[[str, int], int]) -> Motion:
    def motion(text: str, at: int, count: int) -> int:
        for _ in range(count):
            at = step(text, at)
        return at

    return motion


def _first_sign(text: str, at: int, count: int) -> int:
    start, end = start_of_line(text, at), end_of_line(text, at)
    line = text[start:end]
    return start + len(line) - len(line.lstrip())


MOTIONS: Final[dict[str, Motion]] = {
    "h": lambda text, at, count: max(start_of_line(text, at), at - count),
    "l": lambda text, at, count: min(end_of_line(text, at), at + count),
    "0": lambda text, at, count: start_of_line(text, at),
    "^": _first_sign,
    "$": lambda text, at, count: max(start_of_line(text, at), end_of_line(text, at) - 1),
    "w": _often(_word),
    "b": _often(_word_back),
    "e": _often(_word_end),
    "gg": lambda text, at, count: 0,
    "G": lambda text, at, count: start_of_line(text, len(text)),
}
