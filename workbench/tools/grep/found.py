"""Gathers what a search finds, in the order of the paths and in bounded memory; used by `impl`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field


@dataclass
class FileFound:
    """One file: how many of its lines match, and the first of them with their numbers."""

    path: bytes
    count: int = 0
    lines: list[tuple[int, bytes]] = field(default_factory=list)
    size: int = 0


class Found:
    """The files found; of those that come first by path, about `room` bytes are kept, the others are only counted."""

    def __init__(self, room: int, longest: int, fits: Callable[[bytes], object]) -> None:
        self._room, self._longest, self._fits = room, longest, fits
        self._kept: list[FileFound] = []
        self._size = 0
        self._beyond: bytes | None = None
        self._current: FileFound | None = None
        self.files = self.lines = 0

    def take_lines(self, records: Iterable[tuple[bytes, bytes | None]]) -> None:
        """Take records `number:line`; all of a file come one after the other."""
        for path, line in records:
            current = self._current
            if current is None or current.path != path:
                self._settle()
                current = self._current = FileFound(path)
            if line is None:
                self._current = None
                continue
            current.count += 1
            if current.size < self._room:
                number, _, text = line.partition(b":")
                current.lines.append((int(number), text[: self._longest]))
                current.size += min(len(text), self._longest) + len(path) + 8
        self._settle()

    def take_counts(self, records: Iterable[tuple[bytes, bytes | None]]) -> None:
        """Take records with the number of lines in a file."""
        for path, count in records:
            if count is not None:
                self._current = FileFound(path, int(count), size=len(path) + 1)
                self._settle()

    def _settle(self) -> None:
        """The current file is complete."""
        current, self._current = self._current, None
        if current is None or not self._fits(current.path):
            return
        self.files += 1
        self.lines += current.count
        if self._beyond is None or current.path < self._beyond:
            self._kept.append(current)
            self._size += current.size
            if self._size > 8 * self._room:
                self._prune()

    def _prune(self) -> None:
        self._kept.sort(key=lambda file: file.path)
        self._size = 0
        for number, file in enumerate(self._kept):
            self._size += file.size
            if self._size > 2 * self._room:
                self._beyond = file.path
                del self._kept[number + 1 :]
                return

    def first(self) -> list[FileFound]:
        """What was kept, in the order of the paths."""
        return sorted(self._kept, key=lambda file: file.path)
