"""Converts the bytes of a terminal into plain text while they stream in; used by `stream`.

Escape sequences are removed, carriage returns and backspaces applied, invalid UTF-8 replaced. Memory is bounded: only
an open line (at most 64 K) and an open escape sequence (at most 4 K) are held back.
"""

from __future__ import annotations

import codecs
import re

from workbench.lazy_pattern import lazy_pattern

_LONGEST_LINE = 1 << 16
_LONGEST_ESCAPE = 1 << 12

_ERASE = "\x00"
"""Means "erase to the end of the line" until lines are composed; real NULs are removed before."""
_ESCAPE = lazy_pattern(
    r"\x1b\[([0-?]*)[ -/]*([@-~])|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\|(?=\x1b|\n)|\Z)|\x1b[ -/]*[0-OQ-WYZ\\`-~]"
)
_OPEN_ESCAPE = lazy_pattern(r"\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b\n]*\x1b?|[ -/]*)?\Z")
_CONTROL = lazy_pattern(r"[\x01-\x07\x0b\x0c\x0e-\x1f\x7f\x80-\x9f]")
_SPECIAL = lazy_pattern(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_FULL_SCREEN = lazy_pattern(rb"\x1b\[\?(?:1049|1047|47)h")


class Cleaner:
    """Converts bytes to final text; an unfinished line is held back until it ends, or until `flush()`."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._open = ""  # text after the last newline, not cleaned
        self._line: str | None = ""  # the same, cleaned; None until it is computed
        self.full_screen = False

    def feed(self, data: bytes) -> str:
        """Return the text of the lines that `data` completes, with newlines."""
        if not self.full_screen and b"\x1b[?" in data and _FULL_SCREEN.search(data):
            self.full_screen = True
        text = self._open + self._decoder.decode(data)
        cut = text.rfind("\n") + 1
        done, self._open = text[:cut], text[cut:]
        self._line = None
        if len(self._open) > _LONGEST_LINE:
            self._open = _settled(self._open)
        if len(self._open) > _LONGEST_LINE:
            cut = self._cut_long(self._open)
            done, self._open = done + self._open[:cut], self._open[cut:]
        return clean(done)

    @staticmethod
    def _cut_long(text: str) -> int:
        held = _OPEN_ESCAPE.search(text, max(0, len(text) - _LONGEST_ESCAPE))
        return held.start() if held else len(text)

    @property
    def open_line(self) -> str:
        """The current appearance of the unfinished line."""
        if self._line is None:
            self._line = clean(_OPEN_ESCAPE.sub("", self._open[-_LONGEST_LINE:]))
        return self._line

    def flush(self) -> str:
        """Return the unfinished line; what follows starts a new one."""
        line = self.open_line
        self._open = self._line = ""
        return line


def _settled(line: str) -> str:
    """Return an open line without overwritten parts (a progress bar that runs for hours)."""
    cut = line.rfind("\r")
    return clean(line[:cut]) + line[cut:] if cut > 0 else line


def clean(text: str) -> str:
    """Return the text as a terminal would show it, without colors and cursor movements between lines."""
    if not _SPECIAL.search(text):
        return text
    text = text.replace(_ERASE, "").replace("\r\n", "\n")
    if "\x1b" in text:
        text = _ESCAPE.sub(_effect, text)
    text = _CONTROL.sub("", text)
    if "\r" not in text and "\b" not in text and _ERASE not in text:
        return text
    return "\n".join(_overwritten(line) for line in text.split("\n"))


def _effect(match: re.Match[str]) -> str:
    if match.group(2) != "K":
        return ""
    return _ERASE if match.group(1) in ("", "0") else "\r" + _ERASE


def _overwritten(line: str) -> str:
    if "\b" in line:
        line = _typed_over(line)
    if "\r" not in line and _ERASE not in line:
        return line
    result = ""
    for part in line.split("\r"):
        pieces = part.split(_ERASE)
        # With several pieces, everything after the cursor was erased once.
        result = "".join(pieces) if len(pieces) > 1 else part + result[len(part) :]
    return result


def _typed_over(line: str) -> str:
    cells: list[str] = []
    at = 0
    for character in line:
        if character == "\b":
            at = max(0, at - 1)
        elif character in "\r" + _ERASE:
            cells.append(character)
            at = len(cells)
        else:
            cells[at : at + 1] = [character]
            at += 1
    return "".join(cells)
