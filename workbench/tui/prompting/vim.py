"""Vim's keys for the prompt, a small part of them: what a key does to a text; pure, the prompt carries it out.

Insert and normal mode; h l 0 ^ $ w b e gg G with counts, j k, i a I A o O, x D C r, d c y with a motion or doubled,
p P, u. Places are offsets in the whole text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from workbench.tui.prompting.vim_places import MOTIONS, end_of_line, line_bounds, range_of, start_of_line

Mode = Literal["insert", "normal"]
Action = Literal["", "undo", "up", "down"]
_ACTIONS: Final[dict[str, Action]] = {"j": "down", "k": "up", "u": "undo"}
_OPERATORS: Final = "dcy"
_WAITING: Final = ("g", "r", *_OPERATORS)
"""Keys that need another one."""
_SHORT: Final = {"x": "dl", "X": "dh", "D": "d$", "C": "c$", "s": "cl", "Y": "yy", "S": "cc"}


@dataclass(frozen=True)
class Done:
    """What is to be done: `edit` puts a text in place of start..end, then the cursor goes to `at`, then `action`."""

    at: int | None = None
    edit: tuple[int, int, str] | None = None
    action: Action = ""


class Vim:
    """The mode, the keys typed so far, and what was deleted or yanked last."""

    def __init__(self) -> None:
        self.mode: Mode = "insert"
        self._typed = ""
        self._count = ""
        self._register = ""
        self._is_lines = False

    def begin(self) -> None:
        """A new text is written."""
        self.mode, self._typed, self._count = "insert", "", ""

    def press(self, key: str, sign: str | None, text: str, at: int) -> Done | None:
        """What a key does where the cursor stands; None: it means what it means without vim."""
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
            place = end if how == "o" else start
            return Done(place + 1 if how == "o" else place, (place, place, "\n"))
        first = MOTIONS["^"](text, at, 1)
        return Done({"i": at, "a": min(at + 1, end), "I": first, "A": end}[how])

    def _operate(self, operator: str, motion: str, count: int, text: str, at: int) -> Done:
        is_lines = motion in (operator, "gg", "G")
        if is_lines:
            start, end = line_bounds(text, at, count if motion == operator else 1, motion)
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
                place = end_of_line(text, at)
                return Done(place + 1, (place, place, f"\n{what}"))
            place = start_of_line(text, at)
            return Done(place, (place, place, f"{what}\n"))
        place = at if how == "P" else min(at + 1, end_of_line(text, at))
        return Done(place + len(what) - 1, (place, place, what))


def _replaced(sign: str, text: str, at: int) -> Done:
    return Done(at, (at, at + 1, sign)) if at < end_of_line(text, at) else Done()


def _lines_deleted(text: str, start: int, end: int) -> Done:
    """Whole lines with the line break behind them, or before them at the end of the text."""
    if end < len(text):
        return Done(start, (start, end + 1, ""))
    before = max(0, start - 1)
    return Done(start_of_line(text, before), (before, end, ""))
