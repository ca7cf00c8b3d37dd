"""Reads what a search prints: records of a path, NUL and a line; used by `impl`."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

_BINARY = re.compile(
    rb"(.*?): (?:WARNING: stopped searching binary file after match|binary file matches) "
    rb'\(found "\\0" byte around offset \d+\)\n',
    re.DOTALL,
)


def records(chunks: Iterable[bytes]) -> Iterator[tuple[bytes, bytes | None]]:
    """Path and line; None for the line where the file turned out to be binary after some of its lines."""
    rest, path = b"", None
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\0")
        for piece in whole:
            if path is not None:
                line, _, piece = piece.partition(b"\n")
                yield path, line
            while found := _BINARY.match(piece):
                yield found[1][2:], None
                piece = piece[found.end() :]
            path = piece[2:]  # without the ./ that every one has
    if path is not None:
        line, _, rest = rest.partition(b"\n")
        yield path, line
        for found in _BINARY.finditer(rest):
            yield found[1][2:], None


_BROKEN = re.compile("[\ud800-\udfff]")
_BOMS = ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))


def read_text(path: str, largest: int) -> str | None:
    """The text of a regular file, bytes that are no UTF-8 as lone surrogates; None when it is not to be searched."""
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    with os.fdopen(opened, "rb", buffering=0) as file:
        try:
            found = os.fstat(opened)
            raw = file.read(largest + 1) if stat.S_ISREG(found.st_mode) and found.st_size <= largest else None
        except OSError:
            return None
    if raw is None or len(raw) > largest:
        return None
    return _decoded(raw)


def _decoded(raw: bytes) -> str | None:
    for bom, encoding in _BOMS:
        if raw.startswith(bom):
            text = raw[2:].decode(encoding, "replace")
            return None if "\0" in text else text
    if b"\0" in raw:
        return None
    return raw.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")


def lines_of(text: str) -> list[str]:
    """The lines without their ends; a last line without an end is one too."""
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]


def has_broken_bytes(text: str) -> bool:
    """Whether some of it was no UTF-8."""
    return not text.isascii() and _BROKEN.search(text) is not None


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
