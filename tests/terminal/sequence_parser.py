"""Splits the bytes sent to a terminal into text, single controls and whole sequences, by a strict state machine.

It knows no meaning of a sequence: `allowed_output` lists those that may occur. Source: ECMA-48.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_STRINGS = {"]": "osc", "P": "dcs", "X": "sos", "^": "pm", "_": "apc"}
_C1_STRINGS = {"\x9d": "osc", "\x90": "dcs", "\x98": "sos", "\x9e": "pm", "\x9f": "apc"}
_ENDS = "\x07\x9c"


class Piece(NamedTuple):
    """One unit of the output: its kind, all of its text, and where it began."""

    kind: str
    """text, control, escape, csi, osc, dcs, sos, pm, apc, or broken: begun but never properly ended."""

    whole: str
    at: int

    @property
    def body(self) -> str:
        """Return the content of a sequence without its beginning and end, and any other piece unchanged."""
        if self.kind not in {"csi", *_STRINGS.values()}:
            return self.whole
        if self.whole[0] != "\x1b":
            return ""  # begun by a C1 control, which is never allowed
        return self.whole[2:] if self.kind == "csi" else re.sub(r"(?:\x07|\x9c|\x1b\\)\Z", "", self.whole[2:])


def pieces(text: str) -> Iterator[Piece]:
    """Yield the pieces in order; joined they are the text again. 8-bit C1 controls begin sequences too."""
    at = 0
    while at < len(text):
        kind, end = _next(text, at)
        yield Piece(kind, text[at:end], at)
        at = end


def _next(text: str, at: int) -> tuple[str, int]:
    sign = text[at]
    if sign == "\x1b":
        return _escape(text, at)
    if sign == "\x9b":
        return _csi(text, at + 1)
    if sign in _C1_STRINGS:
        return _string(text, at + 1, _C1_STRINGS[sign])
    if _is_control(sign):
        return "control", at + 1
    end = at
    while end < len(text) and not _is_control(text[end]):
        end += 1
    return "text", end


def _is_control(sign: str) -> bool:
    return sign < " " or "\x7f" <= sign <= "\x9f"


def _escape(text: str, at: int) -> tuple[str, int]:
    """Read `ESC`, intermediates and a final character, or the introducer of a longer sequence."""
    end = at + 1
    if end < len(text) and text[end] == "[":
        return _csi(text, end + 1)
    if end < len(text) and text[end] in _STRINGS:
        return _string(text, end + 1, _STRINGS[text[end]])
    while end < len(text) and " " <= text[end] <= "/":
        end += 1
    if end < len(text) and "0" <= text[end] <= "~":
        return "escape", end + 1
    return "broken", end


def _csi(text: str, at: int) -> tuple[str, int]:
    """Read parameters, intermediates and one final character."""
    while at < len(text) and "0" <= text[at] <= "?":
        at += 1
    while at < len(text) and " " <= text[at] <= "/":
        at += 1
    if at < len(text) and "@" <= text[at] <= "~":
        return "csi", at + 1
    return "broken", at


def _string(text: str, at: int, kind: str) -> tuple[str, int]:
    """Read up to the end of the string; another control inside ends it and makes it a broken one."""
    while at < len(text):
        if text[at] in _ENDS:
            return kind, at + 1
        if text.startswith("\x1b\\", at):
            return kind, at + 2
        if _is_control(text[at]):
            return "broken", at
        at += 1
    return "broken", at
