"""Reads rows from the bytes of a SQLite file and its write-ahead log, without SQLite, even if they were cut or
overwritten.

The formats are those of https://www.sqlite.org/fileformat2.html. Nothing is trusted: every number is checked against
the size of the data, and the caller verifies the checksum of each row.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

Value: TypeAlias = int | float | str | bytes | None
Record: TypeAlias = tuple[int, list[Value]]
"""The rowid and the columns of a row; the rowid is 0 in a table without rowids."""

PAGE: Final = 4096
_HEADER: Final = b"SQLite format 3\0"
_WAL_HEADER, _FRAME_HEADER = 32, 24
_INTS: Final = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
"""The length of an integer in bytes, by its serial type."""
_MOST_COLUMNS: Final = 16


class Pages(msgspec.Struct, frozen=True):
    """The pages of a database at one moment: from the log if it has them, otherwise from the file itself."""

    size: int
    file: bytes
    log: dict[int, bytes]

    def __getitem__(self, number: int) -> bytes:
        page = self.log.get(number)
        return self.file[(number - 1) * self.size : number * self.size] if page is None else page

    def numbers(self) -> Iterator[int]:
        """Yield the numbers of all pages, including a truncated last one."""
        in_file = -(-len(self.file) // self.size)
        yield from range(1, in_file + 1)
        # Only existing pages, not a whole range: a damaged number may be in the billions.
        yield from sorted(number for number in self.log if number > in_file)

    def records(self, *, with_rowid: bool) -> Iterator[Record]:
        """Yield the rows of all tables, with or without rowids, in any order; a long row needs all its pages."""
        for number in self.numbers():
            page = self[number]
            if page:
                yield from self._records(page, 100 if number == 1 else 0, with_rowid)

    def _records(self, page: bytes, start: int, with_rowid: bool) -> Iterator[Record]:
        # The type of a page and the count of its cells may be damaged, so neither is read: each pointer is followed up
        # to the first cell, and anything that is not a row fails its checksum.
        headers = (8,) if with_rowid else (8, 12)
        for header in headers:
            begin, end, first = start + header, len(page), len(page)
            pointers = struct.unpack_from(f">{max(0, end - begin) // 2}H", page, begin) if begin < end else ()
            for behind, at in zip(range(begin + 2, end + 1, 2), pointers, strict=False):
                if behind > first:
                    break
                if begin <= at < end:
                    first = min(first, at)
                    record = self._cell(page, at + (4 if header == 12 else 0), with_rowid)
                    if record is not None:
                        yield record

    def _cell(self, page: bytes, at: int, with_rowid: bool) -> Record | None:
        length, at = _varint(page, at)
        rowid = 0
        if with_rowid:
            rowid, at = _varint(page, at)
        if not 0 < length <= len(self.file) + self.size * len(self.log):
            return None
        if _announced(page[at:]) != length:
            return None  # not a record; its overflow page numbers are arbitrary
        columns = _columns(self._payload(page, at, length, with_rowid))
        return None if columns is None else (rowid, columns)

    def _payload(self, page: bytes, at: int, length: int, with_rowid: bool) -> bytes:
        """Return the bytes of a cell, including those on its overflow pages; fewer if a page is missing."""
        most = self.size - 35 if with_rowid else (self.size - 12) * 64 // 255 - 23
        if length <= most:
            return page[at : at + length]
        least = (self.size - 12) * 32 // 255 - 23
        here = least + (length - least) % (self.size - 4)
        here = here if here <= most else least
        parts, remaining = [page[at : at + here]], length - here
        following = int.from_bytes(page[at + here : at + here + 4], "big")
        while remaining > 0 and following:
            overflow = self[following]
            parts.append(overflow[4 : 4 + remaining])
            remaining -= self.size - 4
            following = int.from_bytes(overflow[:4], "big")
        return b"".join(parts)


def read_pages(path: Path) -> list[Pages]:
    """Return the states of a database in which to look for rows, the most trustworthy first. Raises OSError.

    The first includes the complete commits of the log. If the log is damaged, the next one also includes the commits
    after the damage. The last ignores the log.
    """
    file, log_path = path.read_bytes(), Path(f"{path}-wal")
    log = log_path.read_bytes() if log_path.is_file() else b""
    size = _page_size(file[16:18]) if file.startswith(_HEADER) else PAGE
    logs = [_committed(log, size, strict=True), _committed(log, size, strict=False), {}]
    states: list[Pages] = []
    for pages in logs:
        if all(pages != other.log for other in states):
            states.append(Pages(size, file, pages))
    return states


def is_log_damaged(path: Path) -> bool:
    """Return whether the log of a database that no process is writing has commits that SQLite would silently ignore.

    SQLite stops at the first frame with a wrong checksum. After a kill, that frame is in the last commit. A later
    commit or seal means that the frame's commit was once complete. Raises OSError.
    """
    log_path = Path(f"{path}-wal")
    log = log_path.read_bytes() if log_path.is_file() else b""
    frames = list(_frames(log, _page_size(log[8:12])))
    bad = next((at for at, frame in enumerate(frames) if not frame.is_whole), len(frames))
    if any(frame.is_seal for frame in frames[bad + 1 :]):
        return True
    # A power failure may tear a seal together with the commit after it, which had not reached the disk either.
    commits = sum(frame.commits and not frame.is_seal for frame in frames[bad:])
    return commits > (1 if bad else 0)


class _Frame(msgspec.Struct, frozen=True):
    """A page in a log; `is_whole` means that its checksum and those of all frames before it are right.

    A frame that is not `is_current` belongs to an older generation of the log, or is damaged.
    """

    number: int
    is_last: bool
    page: bytes
    is_current: bool
    is_whole: bool

    @property
    def commits(self) -> bool:
        """Whether this is the last page of a commit."""
        return self.is_current and self.is_last

    @property
    def is_seal(self) -> bool:
        """Whether this is a commit of the first page alone; other commits also hold later pages, with events."""
        return self.commits and self.number == 1


def _frames(log: bytes, size: int) -> Iterator[_Frame]:
    """Yield the frames of a log. Older generations have other salts; their content is already in the file itself."""
    order = ">" if log[3:4] == b"\x83" else "<"
    sums = _sum(log[:24], (0, 0), order)
    is_whole = len(log) >= _WAL_HEADER and sums == struct.unpack(">II", log[24:32])
    salts = {log[16:24], log[_WAL_HEADER + 8 : _WAL_HEADER + 16]}
    for at in range(_WAL_HEADER, len(log) - size - _FRAME_HEADER + 1, size + _FRAME_HEADER):
        header, page = log[at : at + _FRAME_HEADER], log[at + _FRAME_HEADER : at + _FRAME_HEADER + size]
        number, commit, _, _, *expected = struct.unpack(">6I", header)
        if is_whole:
            sums = _sum(page, _sum(header[:8], sums, order), order)
            is_whole = header[8:16] == log[16:24] and sums == tuple(expected)
        yield _Frame(number, bool(commit), page, header[8:16] in salts, is_whole)


def _committed(log: bytes, size: int, *, strict: bool) -> dict[int, bytes]:
    """Return the pages of a log up to its last commit.

    Unless `strict`, include pages after a frame with a wrong checksum.
    """
    pages: dict[int, bytes] = {}
    waiting: dict[int, bytes] = {}
    for frame in _frames(log, size):
        if strict and not frame.is_whole:
            break
        if not frame.is_current:
            continue
        waiting[frame.number] = frame.page
        if frame.commits:
            pages |= waiting
            waiting = {}
    return pages


def _page_size(stored: bytes) -> int:
    size = int.from_bytes(stored, "big")
    size = 65_536 if size == 1 else size
    return PAGE if size < 512 or size & (size - 1) or size > 65_536 else size


def _sum(data: bytes, sums: tuple[int, int], order: str) -> tuple[int, int]:
    """Continue the checksum of a write-ahead log from `sums`: two running sums over pairs of 32-bit words."""
    first, second = sums
    words = struct.unpack(f"{order}{len(data) // 4}I", data[: len(data) // 4 * 4])
    for even, odd in zip(words[::2], words[1::2], strict=False):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return first, second


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the number encoded at `at` and the offset after it; bytes after the end of the data count as 0."""
    value = 0
    for count in range(9):
        byte = data[at + count] if at + count < len(data) else 0
        if count == 8:
            return _signed((value << 8) | byte), at + 9
        value = (value << 7) | (byte & 0x7F)
        if byte < 0x80:
            return value, at + count + 1
    return value, at


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def _types(payload: bytes) -> list[int]:
    """Return the serial types of a record's columns, then the offset of the first column; an empty list if it is no
    record.
    """
    end, at = _varint(payload, 0)
    if not 1 < end <= min(len(payload), 1 + 9 * _MOST_COLUMNS):
        return []
    types = []
    while at < end:
        kind, at = _varint(payload, at)
        types.append(kind)
    return [*types, at]


def _announced(payload: bytes) -> int:
    """Return the length of a record in bytes according to its header; 0 if it is not a record."""
    *types, at = _types(payload[: 10 * _MOST_COLUMNS]) or [0]
    lengths = [_length(kind) for kind in types]
    return at + sum(lengths) if lengths and min(lengths) >= 0 else 0


def _columns(payload: bytes) -> list[Value] | None:
    """Return the columns of a record, or None if it is not one."""
    *types, at = _types(payload) or [0]
    if not types:
        return None
    values: list[Value] = []
    for kind in types:
        length = _length(kind)
        if length < 0 or at + length > len(payload):
            return None
        try:
            values.append(_value(kind, payload[at : at + length]))
        except UnicodeDecodeError:
            return None
        at += length
    return values


def _length(kind: int) -> int:
    if kind >= 12:
        return (kind - 12) // 2
    return 8 if kind == 7 else _INTS.get(kind, -1 if kind < 0 or kind in (10, 11) else 0)


def _value(kind: int, data: bytes) -> Value:
    if kind >= 12:
        return data.decode() if kind % 2 else data
    if kind == 7:
        return float(struct.unpack(">d", data)[0])
    if kind in (8, 9):
        return kind - 8
    return int.from_bytes(data, "big", signed=True) if kind else None
