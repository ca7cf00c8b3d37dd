"""Finds what the shell's prompt prints in its output: hints and marks; used by `prompt` and `shell`."""

from __future__ import annotations

import os
from dataclasses import dataclass

_PREFIX = b"\x1b]133;"
_HINTS = {_PREFIX + b"A\x07": True, _PREFIX + b"AE\x07": False}
_LONGEST = 1 << 17  # a folder and a PATH are shorter


@dataclass(frozen=True)
class Hint:
    """The shell may be at its prompt: anyone can print this, so it is only a reason to look."""

    abandoned: bool


@dataclass(frozen=True)
class Mark:
    """What the prompt reports: exit code, whether the line was abandoned, folder and PATH."""

    code: int
    abandoned: bool
    folder: str
    path: str
    is_sound: bool = True
    """Whether the shell's special builtins could not be replaced by functions (POSIX mode) when it was printed."""


class MarkScanner:
    """Splits a stream of bytes into output, hints and marks; a mark with another nonce than `nonce` is output."""

    def __init__(self, nonce: str = "") -> None:
        self.nonce = nonce
        self._held = b""

    def feed(self, data: bytes) -> list[bytes | Hint | Mark]:
        """The parts in order; what may yet become a hint or a mark is kept for the next call."""
        data = self._held + data if self._held else data
        parts: list[bytes | Hint | Mark] = []
        given = at = 0
        while (start := data.find(_PREFIX, at)) >= 0:
            found, end = self._read(data, start)
            if end < 0:
                break
            if found:
                self._add(parts, data[given:start])
                parts.append(found)
                given = end
            at = end
        keep = start if start >= 0 else _partial(data, at)
        self._add(parts, data[given:keep])
        self._held = data[keep:]
        return parts

    def flush(self) -> bytes:
        """What was kept, as output: nothing more will come."""
        held, self._held = self._held, b""
        return held

    @staticmethod
    def _add(parts: list[bytes | Hint | Mark], output: bytes) -> None:
        if output:
            parts.append(output)

    def _read(self, data: bytes, start: int) -> tuple[Hint | Mark | None, int]:
        """What begins at `start` and where it ends; -1 while that is not known, None for output."""
        for hint, abandoned in _HINTS.items():
            if data.startswith(hint, start):
                return Hint(abandoned), start + len(hint)
        opening = f"\x1b]133;D;{self.nonce};".encode() if self.nonce else b""
        if not (opening and data.startswith(opening, start)):
            rest = data[start : start + len(opening) + len(_PREFIX) + 3]
            is_open = any(whole.startswith(rest) for whole in (opening, *_HINTS))
            return None, -1 if is_open else start + len(_PREFIX)
        body = start + len(opening)
        closing = f";{self.nonce}\x07".encode()
        end = data.find(closing, body - 1)
        if end < 0 and len(data) - start < _LONGEST:
            return None, -1
        mark = _parse(data[body:end]) if end >= 0 else None
        return mark, end + len(closing) if mark else body


def _partial(data: bytes, at: int) -> int:
    """Where a beginning of the prefix at the end of `data` starts, else the end."""
    esc = data.rfind(b"\x1b", max(at, len(data) - len(_PREFIX) + 1))
    return esc if esc >= 0 and _PREFIX.startswith(data[esc:]) else len(data)


def _parse(body: bytes) -> Mark | None:
    try:
        code, rest = body.split(b";", 1)
        where, _, options = rest.rpartition(b"\x1f")
        folder, _, path = where.rpartition(b"\x1f")
        number = int(code)
        return Mark(number % 1000, number >= 1000, os.fsdecode(folder), os.fsdecode(path), b":posix:" in options)
    except ValueError:
        return None
