"""Keeps the beginning and the end of an output in bounded memory; used by `process`."""

from __future__ import annotations

from workbench.text import well_formed


class Capture:
    """Takes bytes as they come; keeps about `limit` of them, half from the beginning and half from the end."""

    def __init__(self, limit: int) -> None:
        self._half = limit // 2
        self._head = b""
        self._tail = b""
        self._lost = 0

    def add(self, data: bytes) -> None:
        """Take the next bytes."""
        room = self._half - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data
        if len(self._tail) > 4 * self._half:
            self._shorten()

    def _shorten(self) -> None:
        extra = max(0, len(self._tail) - self._half)
        self._lost += extra
        self._tail = self._tail[extra:]

    def text(self) -> str:
        """What was kept, with a notice where something is missing."""
        self._shorten()
        if not self._lost:
            return well_formed((self._head + self._tail).decode(errors="replace"))
        head, tail = self._head.decode(errors="replace"), self._tail.decode(errors="replace")
        return well_formed(f"{head}\n[… {self._lost} bytes left out …]\n{tail}")
