"""Finds the shell's prompt marker in its output; used by `shell`."""

from __future__ import annotations

import os
from dataclasses import dataclass

_LONGEST = 1 << 17  # a folder and a PATH are shorter


@dataclass(frozen=True)
class Mark:
    """What the prompt says: which line ended, its exit code, whether the line was abandoned, folder and PATH."""

    line: int
    code: int
    abandoned: bool
    folder: str
    path: str


class MarkScanner:
    """Splits a stream of bytes into output and marks; a marker with another nonce is output."""

    def __init__(self, nonce: str) -> None:
        self._start = f"\x1b]133;D;{nonce};".encode()
        self._end = f";{nonce}0\x07".encode()
        self._held = b""

    def feed(self, data: bytes) -> list[bytes | Mark]:
        """The parts in order; what may yet become a marker is kept for the next call."""
        data = self._held + data if self._held else data
        parts: list[bytes | Mark] = []
        at = 0
        while (start := data.find(self._start, at)) >= 0:
            end = data.find(self._end, start)
            if end < 0 and len(data) - start < _LONGEST:
                break
            mark = _read(data[start + len(self._start) : end]) if end >= 0 else None
            after = end + len(self._end) if mark else start + len(self._start)
            self._add(parts, data[at:start])
            if mark:
                parts.append(mark)
            at = after
        keep = start if start >= 0 else self._partial(data, at)
        self._add(parts, data[at:keep])
        self._held = data[keep:]
        return parts

    def flush(self) -> bytes:
        """What was kept, as output: nothing more will come."""
        held, self._held = self._held, b""
        return held

    @staticmethod
    def _add(parts: list[bytes | Mark], output: bytes) -> None:
        if output:
            parts.append(output)

    def _partial(self, data: bytes, at: int) -> int:
        """Where a beginning of the marker at the end of `data` starts, else the end."""
        esc = data.rfind(b"\x1b", max(at, len(data) - len(self._start) + 1))
        return esc if esc >= 0 and self._start.startswith(data[esc:]) else len(data)


def _read(body: bytes) -> Mark | None:
    try:
        line, code, rest = body.split(b";", 2)
        folder, _, path = rest.rpartition(b"\x1f")
        return Mark(int(line), int(code.lstrip(b"a")), code[:1] == b"a", os.fsdecode(folder), os.fsdecode(path))
    except ValueError:
        return None
