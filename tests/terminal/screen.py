"""The screen of a terminal, computed from the bytes that a program sends; knows the sequences that the tests need."""

from __future__ import annotations

import re
from collections.abc import Callable

from rich.cells import cell_len

# CSI, OSC / DCS / APC / PM strings, and two-character escapes; an unfinished one waits for more bytes.
_SEQUENCE = re.compile(
    r"\x1b(?:\[([<=>?]?)([0-9;:]*)([ -/]*)([@-~])|[\]PX^_].*?(?:\x07|\x1b\\)|[ -/]+[0-~]|[0-OQ-WYZ`-~\\])", re.S
)
_WIDE_TAIL = ""


class Screen:
    """Columns times rows of characters; `feed` text, read `lines`."""

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self.x = self.y = 0
        self.is_alternate = False
        self._saved = (0, 0)
        self._cells = self._blank()
        self._other = self._blank()
        self._rest = ""
        self._moves: dict[str, Callable[[list[int]], None]] = {
            "A": lambda n: self._to(self.x, self.y - _first(n)),
            "B": lambda n: self._to(self.x, self.y + _first(n)),
            "C": lambda n: self._to(self.x + _first(n), self.y),
            "D": lambda n: self._to(self.x - _first(n), self.y),
            "E": lambda n: self._to(0, self.y + _first(n)),
            "F": lambda n: self._to(0, self.y - _first(n)),
            "G": lambda n: self._to(_first(n) - 1, self.y),
            "d": lambda n: self._to(self.x, _first(n) - 1),
            "H": lambda n: self._to((n[1] if len(n) > 1 else 1) - 1, _first(n) - 1),
            "f": lambda n: self._to((n[1] if len(n) > 1 else 1) - 1, _first(n) - 1),
            "J": self._erase_screen,
            "K": self._erase_line,
            "X": lambda n: self._clear(self.y, self.x, self.x + _first(n)),
            "P": self._delete,
            "@": self._insert,
        }

    @property
    def lines(self) -> list[str]:
        """Return the rows without trailing blanks."""
        return ["".join(row).rstrip() for row in self._cells]

    @property
    def text(self) -> str:
        """Return all rows as one text."""
        return "\n".join(self.lines)

    def feed(self, text: str) -> None:
        """Process output of the program, in pieces of any size."""
        text, self._rest = self._rest + text, ""
        at = 0
        while at < len(text):
            if text[at] != "\x1b":
                self._plain(text[at])
                at += 1
            elif sequence := _SEQUENCE.match(text, at):
                self._obey(*sequence.groups())
                if sequence.group() in ("\x1b7", "\x1b8"):
                    self._save_or_restore(sequence.group())
                at = sequence.end()
            else:
                self._rest = text[at:]
                return

    def _blank(self) -> list[list[str]]:
        return [[" "] * self.columns for _ in range(self.rows)]

    def _plain(self, sign: str) -> None:
        if sign == "\r":
            self.x = 0
        elif sign == "\n":
            self._line_feed()
        elif sign == "\b":
            self._to(self.x - 1, self.y)
        elif sign == "\t":
            self._to((self.x // 8 + 1) * 8, self.y)
        elif sign >= " " and sign != "\x7f":
            self._put(sign)

    def _put(self, sign: str) -> None:
        width = cell_len(sign)
        if width == 0:
            return
        if self.x + width > self.columns:
            self.x = 0
            self._line_feed()
        self._cells[self.y][self.x] = sign
        if width == 2:
            self._cells[self.y][self.x + 1] = _WIDE_TAIL
        self.x += width

    def _line_feed(self) -> None:
        if self.y + 1 < self.rows:
            self.y += 1
        else:
            self._cells = [*self._cells[1:], [" "] * self.columns]

    def _obey(self, private: str | None, numbers: str | None, between: str | None, final: str | None) -> None:
        if final is None or between:
            return
        values = [int(part) if part.isdigit() else 0 for part in re.split("[;:]", numbers or "")]
        if private == "?" and final in "hl":
            if {47, 1047, 1049} & set(values):
                self._switch(final == "h")
        elif not private and final in self._moves:
            self._moves[final](values)

    def _switch(self, alternate: bool) -> None:
        if alternate == self.is_alternate:
            return
        self.is_alternate = alternate
        self._cells, self._other = (self._blank() if alternate else self._other), self._cells

    def _save_or_restore(self, sequence: str) -> None:
        if sequence == "\x1b7":
            self._saved = (self.x, self.y)
        else:
            self._to(*self._saved)

    def _to(self, x: int, y: int) -> None:
        self.x = min(max(x, 0), self.columns - 1)
        self.y = min(max(y, 0), self.rows - 1)

    def _clear(self, row: int, start: int, end: int) -> None:
        for column in range(start, min(end, self.columns)):
            self._cells[row][column] = " "

    def _erase_line(self, numbers: list[int]) -> None:
        start, end = ((self.x, self.columns), (0, self.x + 1), (0, self.columns))[min(numbers[0], 2)]
        self._clear(self.y, start, end)

    def _erase_screen(self, numbers: list[int]) -> None:
        kind = min(numbers[0], 2)
        rows = (range(self.y + 1, self.rows), range(self.y), range(self.rows))[kind]
        for row in rows:
            self._clear(row, 0, self.columns)
        if kind < 2:
            self._erase_line(numbers)

    def _delete(self, numbers: list[int]) -> None:
        row, count = self._cells[self.y], _first(numbers)
        row[self.x :] = (row[self.x + count :] + [" "] * count)[: self.columns - self.x]

    def _insert(self, numbers: list[int]) -> None:
        row, count = self._cells[self.y], _first(numbers)
        row[self.x :] = ([" "] * count + row[self.x :])[: self.columns - self.x]


def _first(numbers: list[int]) -> int:
    return max(1, numbers[0])
