"""The vim keys of the prompt: its modes, its commands, and the targets of its motions, as offsets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

Motion = Callable[[str, int, int], int]
"""Returns the target of a motion as an offset, given the text, the current offset and a count."""


def row_and_column(text: str, at: int) -> tuple[int, int]:
    """Return an offset as a row and column, as the text area counts them."""
    return text.count("\n", 0, at), at - start_of_line(text, at)


def offset_of(text: str, row: int, column: int) -> int:
    """Return the offset of a row and column in the whole text."""
    return sum(len(line) + 1 for line in text.split("\n")[:row]) + column


def start_of_line(text: str, at: int) -> int:
    """Return the offset of the first character of the line."""
    return text.rfind("\n", 0, at) + 1


def end_of_line(text: str, at: int) -> int:
    """Return the offset just after the last character of the line."""
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def rest_in_normal(text: str, at: int) -> int:
    """Return the nearest offset at which the cursor may rest in normal mode: on a character, if the line has any."""
    at = max(0, min(at, len(text)))
    start, end = start_of_line(text, at), end_of_line(text, at)
    return max(start, min(at, end - 1))


def line_range(text: str, at: int, count: int, motion: str) -> tuple[int, int]:
    """Return the range of `count` lines, or up to the first (`gg`) or last (`G`) one, without the final line break."""
    start, end = start_of_line(text, at), end_of_line(text, at)
    if motion == "gg":
        return 0, end
    if motion == "G":
        return start, len(text)
    for _ in range(count - 1):
        end = end_of_line(text, end + 1) if end < len(text) else end
    return start, end


def range_of(motion: str, text: str, at: int, count: int, *, is_change: bool) -> tuple[int, int]:
    """Return the range, start first, on which an operator acts with a motion from `at`.

    A single `w` goes no further than the end of the line, and `cw` on a word acts as `ce`.
    """
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
    """Return the offset of the start of the next word."""
    kind = _kind(text[at]) if at < len(text) else 0
    while at < len(text) and kind and _kind(text[at]) == kind:
        at += 1
    while at < len(text) and not _kind(text[at]):
        at += 1
    return at


def _word_end(text: str, at: int) -> int:
    """Return the offset of the last character of this word or, from its end, of the next word."""
    at += 1
    while at < len(text) and not _kind(text[at]):
        at += 1
    while at + 1 < len(text) and _kind(text[at + 1]) == _kind(text[at]):
        at += 1
    return min(at, max(0, len(text) - 1))


def _word_back(text: str, at: int) -> int:
    """Return the offset of the start of this word or, from its start, of the previous word."""
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


Mode = Literal["insert", "normal"]
Action = Literal["", "undo", "up", "down"]
_ACTIONS: Final[dict[str, Action]] = {"j": "down", "k": "up", "u": "undo"}
_OPERATORS: Final = "dcy"
_WAITING: Final = ("g", "r", *_OPERATORS)
"""Keys that must be followed by another key."""
_SHORT: Final = {"x": "dl", "X": "dh", "D": "d$", "C": "c$", "s": "cl", "Y": "yy", "S": "cc"}


@dataclass(frozen=True)
class Done:
    """The effect of a key: `edit` replaces start to end with a text, the cursor moves to `at`, then `action` runs."""

    at: int | None = None
    edit: tuple[int, int, str] | None = None
    action: Action = ""


class Vim:
    """The vim state of the prompt: the mode, the keys typed so far, and what was deleted or yanked last."""

    def __init__(self) -> None:
        self.mode: Mode = "insert"
        self._typed = ""
        self._count = ""
        self._register = ""
        self._is_lines = False

    def begin(self) -> None:
        """Start in insert mode, for a new text."""
        self.mode, self._typed, self._count = "insert", "", ""

    def press(self, key: str, sign: str | None, text: str, at: int) -> Done | None:
        """Return the effect of a key at the cursor, or None if vim does not handle it."""
        if self.mode == "insert":
            return self._leave_insert(text, at) if key == "escape" else None
        if key == "escape" and (self._typed or self._count):
            self._typed = self._count = ""
            return Done()
        sign = {"backspace": "h", "delete": "x"}.get(key, sign)
        if sign is None or not sign.isprintable():
            return None
        return self._normal(sign, text, at)

    def _leave_insert(self, text: str, at: int) -> Done:
        self.mode = "normal"
        return Done(max(start_of_line(text, at), at - 1))

    def _normal(self, sign: str, text: str, at: int) -> Done:
        if sign.isdigit() and (sign != "0" or self._count) and self._typed != "r":
            self._count += sign
            return Done()
        typed = self._typed + _SHORT.get(sign, sign) if not self._typed else self._typed + sign
        if typed in _WAITING or (len(typed) == 2 and typed[0] in _OPERATORS and typed[1] == "g"):
            self._typed = typed
            return Done()
        count, self._typed, self._count = min(int(self._count or 1), 1_000), "", ""
        return self._command(typed, count, text, at)

    def _command(self, typed: str, count: int, text: str, at: int) -> Done:
        if typed[0] in _OPERATORS:
            return self._operate(typed[0], typed[1:], count, text, at)
        if typed[0] == "r":
            return _replaced(typed[1:], text, at)
        if typed in "iaIAoO":
            return self._insert(typed, text, at)
        if typed in "pP":
            return self._put(typed, count, text, at)
        if typed in "jku":
            return Done(action=_ACTIONS[typed])
        return Done(MOTIONS[typed](text, at, count)) if typed in MOTIONS else Done()

    def _insert(self, how: str, text: str, at: int) -> Done:
        self.mode = "insert"
        start, end = start_of_line(text, at), end_of_line(text, at)
        if how in "oO":
            offset = end if how == "o" else start
            return Done(offset + 1 if how == "o" else offset, (offset, offset, "\n"))
        first = MOTIONS["^"](text, at, 1)
        return Done({"i": at, "a": min(at + 1, end), "I": first, "A": end}[how])

    def _operate(self, operator: str, motion: str, count: int, text: str, at: int) -> Done:
        is_lines = motion in (operator, "gg", "G")
        if is_lines:
            start, end = line_range(text, at, count if motion == operator else 1, motion)
        elif motion in MOTIONS:
            start, end = range_of(motion, text, at, count, is_change=operator == "c")
        else:
            return Done()
        self._register, self._is_lines = text[start:end], is_lines
        if operator == "y":
            return Done(start)
        if operator == "c":
            self.mode = "insert"
            return Done(start, (start, end, ""))
        return _lines_deleted(text, start, end) if is_lines else Done(start, (start, end, ""))

    def _put(self, how: str, count: int, text: str, at: int) -> Done:
        what = self._register * count
        if not what:
            return Done()
        if self._is_lines:
            what = "\n".join([self._register] * count)
            if how == "p":
                offset = end_of_line(text, at)
                return Done(offset + 1, (offset, offset, f"\n{what}"))
            offset = start_of_line(text, at)
            return Done(offset, (offset, offset, f"{what}\n"))
        offset = at if how == "P" else min(at + 1, end_of_line(text, at))
        return Done(offset + len(what) - 1, (offset, offset, what))


def _replaced(sign: str, text: str, at: int) -> Done:
    return Done(at, (at, at + 1, sign)) if at < end_of_line(text, at) else Done()


def _lines_deleted(text: str, start: int, end: int) -> Done:
    """Delete whole lines with the line break after them or, at the end of the text, the one before them."""
    if end < len(text):
        return Done(start, (start, end + 1, ""))
    before = max(0, start - 1)
    return Done(start_of_line(text, before), (before, end, ""))
