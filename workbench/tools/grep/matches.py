"""Parses the output of a search (path, NUL, line), and reads searched files; standard library only."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from workbench.lazy_pattern import lazy_pattern

_BINARY = lazy_pattern(
    rb"(.*?): (?:WARNING: stopped searching binary file after match|binary file matches) "
    rb'\(found "\\0" byte around offset \d+\)\n',
    re.DOTALL,
)


def records(chunks: Iterable[bytes]) -> Iterator[tuple[bytes, bytes | None]]:
    """Yield the path and line of each match; the line is None if the file turned out to be binary after some
    matches.
    """
    rest, path = b"", None
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\0")
        for piece in whole:
            if path is not None:
                line, _, piece = piece.partition(b"\n")
                yield path, line
            while match := _BINARY.match(piece):
                yield match[1][2:], None
                piece = piece[match.end() :]
            path = piece[2:]  # without the leading ./
    if path is not None:
        line, _, rest = rest.partition(b"\n")
        yield path, line
        for match in _BINARY.finditer(rest):
            yield match[1][2:], None


_BROKEN = lazy_pattern("[\ud800-\udfff]")
_BOMS = ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))


def read_text(path: str, largest: int) -> str | None:
    """Return the text of a regular file, with invalid UTF-8 as lone surrogates; None if unreadable, binary or too
    large.
    """
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    with os.fdopen(opened, "rb", buffering=0) as file:
        try:
            status = os.fstat(opened)
            raw = file.read(largest + 1) if stat.S_ISREG(status.st_mode) and status.st_size <= largest else None
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
    """Return the lines without line endings; text after the last newline is a line too."""
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]


def has_broken_bytes(text: str) -> bool:
    """Return whether the text contains bytes that were invalid UTF-8."""
    return not text.isascii() and _BROKEN.search(text) is not None


@dataclass
class FileMatches:
    """The matches in one file: the number of matching lines, and the first of them with their line numbers."""

    path: bytes
    count: int = 0
    lines: list[tuple[int, bytes]] = field(default_factory=list)
    size: int = 0


class Matches:
    """Files with matches. About `budget` bytes are stored for the first files by path; the others are only counted."""

    def __init__(self, budget: int, longest: int, fits: Callable[[bytes], object]) -> None:
        self._budget, self._longest, self._fits = budget, longest, fits
        self._stored: list[FileMatches] = []
        self._size = 0
        self._beyond: bytes | None = None
        self._current: FileMatches | None = None
        self.files = self.lines = 0

    def add_lines(self, records: Iterable[tuple[bytes, bytes | None]]) -> None:
        """Add records `number:line`; the records of a file must be consecutive."""
        for path, line in records:
            current = self._current
            if current is None or current.path != path:
                self._finish_file()
                current = self._current = FileMatches(path)
            if line is None:
                self._current = None
                continue
            current.count += 1
            if current.size < self._budget:
                number, _, text = line.partition(b":")
                current.lines.append((int(number), text[: self._longest]))
                current.size += min(len(text), self._longest) + len(path) + 8
        self._finish_file()

    def add_counts(self, records: Iterable[tuple[bytes, bytes | None]]) -> None:
        """Add records with the number of matching lines of a file."""
        for path, count in records:
            if count is not None:
                self._current = FileMatches(path, int(count), size=len(path) + 1)
                self._finish_file()

    def _finish_file(self) -> None:
        """Store the current file, which is complete, if it passes the filter."""
        current, self._current = self._current, None
        if current is None or not self._fits(current.path):
            return
        self.files += 1
        self.lines += current.count
        if self._beyond is None or current.path < self._beyond:
            self._stored.append(current)
            self._size += current.size
            if self._size > 8 * self._budget:
                self._prune()

    def _prune(self) -> None:
        self._stored.sort(key=lambda file: file.path)
        self._size = 0
        for number, file in enumerate(self._stored):
            self._size += file.size
            if self._size > 2 * self._budget:
                self._beyond = file.path
                del self._stored[number + 1 :]
                return

    def first(self) -> list[FileMatches]:
        """Return the stored files, ordered by path."""
        return sorted(self._stored, key=lambda file: file.path)
