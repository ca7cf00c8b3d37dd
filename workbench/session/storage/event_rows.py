"""Writes and reads events as rows of the event table, even in a damaged file; used by the store."""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
import struct
import threading
import zlib
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import replace

from workbench.lazy_pattern import lazy_pattern
from workbench.protocol.codec import encode, without_surrogates
from workbench.protocol.events import ActionObserved, ActionProposed, Event, ModelResponded, SessionStarted, UserMessage

LIMIT = 16_000
"""Strings with more characters than this are stored separately."""

Path: TypeAlias = list[str | int]
Parts: TypeAlias = list[tuple[Path, str]]


def extract_strings(payload: dict[str, Any]) -> tuple[Parts, dict[str, str]]:
    """Replace every long string in the payload with None; return the path and hash of each, and the strings by hash."""
    parts: Parts = []
    strings: dict[str, str] = {}
    for path, text in list(_long_strings(payload, [])):
        name = _name_of(text)
        _put(payload, path, None)
        parts.append((path, name))
        strings[name] = text
    return parts, strings


def insert_strings(row: str, parts: str, text_of: Callable[[str], str]) -> str:
    """Return the JSON of a row with its long strings restored.

    `text_of` returns the string with a given hash, and raises LookupError if it is missing.
    """
    payload = json.loads(row)
    for path, name in json.loads(parts):
        _put(payload, path, text_of(name))
    return json.dumps(payload, ensure_ascii=False)


def is_named(text: object, name: object) -> bool:
    """Return whether `name` is the hash under which the text is stored."""
    return isinstance(text, str) and _name_of(text) == name


def _name_of(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _long_strings(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str):
        if len(value) > LIMIT:
            yield path, value
    elif isinstance(value, dict):
        for name, part in value.items():
            yield from _long_strings(part, [*path, name])
    elif isinstance(value, list):
        for number, part in enumerate(value):
            yield from _long_strings(part, [*path, number])


def _put(payload: Any, path: Path, value: str | None) -> None:
    for name in path[:-1]:
        payload = payload[name]
    payload[path[-1]] = value


_BATCH = 1_000
_HOPELESS = 5_000
"""After this many consecutive unreadable rows, the rest of the file is skipped."""
UNCHECKED = -1
"""The checksum of a row from a version that wrote none; flipping one bit of a checksum never results in it."""
CHANGED = "its checksum differs: it was changed after it was written"
MISSING = "is missing"
Unsigned: TypeAlias = tuple[int, str, str, str, str | None]
"""seq, kind, at, json, parts: a row without its checksum."""
Row: TypeAlias = tuple[int, str, str, str, str | None, int | None]
"""An `Unsigned` row with its checksum, as in the event table."""
_ROWS = "SELECT seq, kind, at, json, parts, {crc} FROM events WHERE seq > ? ORDER BY seq LIMIT ?"
_NEXT_ROW = "SELECT seq, kind, at, json, parts, {crc} FROM events WHERE seq >= ? LIMIT 1"
_CHECKSUMS = "SELECT crc FROM events WHERE seq > ? AND seq <= ? ORDER BY seq"
_SEQ = lazy_pattern(r'\{"seq": ?(\d+),')


class Gap(msgspec.Struct, frozen=True):
    """Events `first` to `last` of a log, which cannot be shown; `reason` is one line."""

    first: int
    last: int
    reason: str


def write_row(db: sqlite3.Connection, event: Event) -> Event:
    """Insert a numbered event in the open transaction; return it as it will be read back."""
    event, line = _as_json(event)
    write_line(db, event.seq, event.kind, event.at.isoformat(), line)
    return event


def write_line(db: sqlite3.Connection, seq: int, kind: str, at: str, line: str) -> None:
    """Insert the JSON of an event in the open transaction, with its long strings stored separately."""
    parts: str | None = None
    if len(line) > LIMIT:
        payload = json.loads(line)
        paths, strings = extract_strings(payload)
        if paths:
            db.executemany("INSERT OR IGNORE INTO main.blobs VALUES (?, ?)", strings.items())
            line, parts = json.dumps(payload, ensure_ascii=False), json.dumps(paths)
    insert_row(db, (seq, kind, at, line, parts))


def insert_row(db: sqlite3.Connection, row: Unsigned) -> None:
    """Insert a row, adding its checksum, in the open transaction."""
    db.execute("INSERT INTO main.events VALUES (?, ?, ?, ?, ?, ?)", (*row, checksum(row)))


def checksum(row: Unsigned) -> int:
    """Return the CRC-32 of a whole row, which detects any flipped bit; each long string has a SHA-256 instead."""
    seq, kind, at, line, parts = row
    head = f"{seq}\0{kind}\0{at}\0{parts or ''}\0"
    return zlib.crc32(line.encode(), zlib.crc32(head.encode()))


def is_intact(row: Row) -> bool:
    """Return whether a row is as it was written; without a checksum, only its number can be checked."""
    seq, kind, at, line, parts, crc = row
    if not (isinstance(kind, str) and isinstance(at, str) and isinstance(line, str)):
        return False
    if parts is not None and not isinstance(parts, str):
        return False
    if crc == UNCHECKED:
        named = _SEQ.match(line)
        return named is None or int(named[1]) == seq
    return crc == checksum((seq, kind, at, line, parts))


def find_damage(db: sqlite3.Connection, crc: str) -> str:
    """Describe the first row or long string that was changed, or the first missing event; empty if the file is intact.

    `crc` is the SQL expression for the checksum column, or for its substitute in a file without checksums. Raises
    sqlite3.Error.
    """
    missing, last = "", 0
    for expected, row in enumerate(db.execute(_ROWS.format(crc=crc), (-(2**63), -1)), 1):
        if not is_intact(row):
            return f"event {row[0]}: {CHANGED}"
        if row[0] != expected:
            missing = missing or f"event {expected} {MISSING}"
        last = row[0]
    if missing := missing or _missing_at_the_end(db, last):
        return missing
    for name, text in db.execute("SELECT hash, text FROM blobs"):
        if not is_named(text, name):
            return f"a long text: {CHANGED}"
    return ""


class LogMark(msgspec.Struct, frozen=True):
    """The first `seq` events of a log, identified by the CRC-32 of their checksums in order."""

    seq: int = 0
    crc: int = 0


def mark_of(db: sqlite3.Connection, last: int, since: LogMark) -> LogMark | None:
    """Return the mark of the first `last` events, continuing from the mark `since`, whose events are not read again.

    None if an event is missing, or has no checksum because an older version wrote it. Raises sqlite3.Error.
    """
    crc, count = since.crc, since.seq
    rows = db.execute(_CHECKSUMS, (since.seq, last))
    while batch := [checksum_of_row for (checksum_of_row,) in rows.fetchmany(_BATCH)]:
        if UNCHECKED in batch:
            return None
        try:
            packed = struct.pack(f"<{len(batch)}I", *batch)
        except struct.error:  # something else stands where a checksum should be
            return None
        crc, count = zlib.crc32(packed, crc), count + len(batch)
    return LogMark(last, crc) if count == last else None


def _missing_at_the_end(db: sqlite3.Connection, last: int) -> str:
    """Describe events that are missing after event `last`; empty if the search index has no later event either."""
    indexed = _last_indexed(db)
    if indexed <= last:
        return ""
    return (
        f"event {indexed} {MISSING}" if indexed == last + 1 else f"events {last + 1} to {indexed} at least are missing"
    )


def _last_indexed(db: sqlite3.Connection) -> int:
    """Return the number of the last event in the search index; 0 if there is none. Raises sqlite3.Error."""
    return int(db.execute("SELECT coalesce(max(id), 0) FROM words_docsize").fetchone()[0])


def _as_json(event: Event) -> tuple[Event, str]:
    line = encode(event)
    if b"\\ud" in line:
        # A lone surrogate from a tool or a model cannot be stored. Only the workspace keeps its own, as a JSON escape:
        # the session must find its directory again.
        clean = without_surrogates(event)
        event = replace(clean, workspace=event.workspace) if isinstance(event, SessionStarted) else clean
        line = encode(event)
    return event, line.decode()


def read_rows(
    db: sqlite3.Connection, lock: threading.RLock, after: int, limit: int | None, crc: str
) -> Iterator[tuple[int, str] | Gap]:
    """Yield (seq, JSON) in order, and a Gap for rows that are unreadable, changed or missing.

    The lock is held only while a batch is read.
    """
    remaining = limit if limit is not None else -1
    while remaining != 0:
        size = min(_BATCH, remaining) if remaining > 0 else _BATCH
        try:
            with lock:
                rows = db.execute(_ROWS.format(crc=crc), (after, size)).fetchall()
        except (sqlite3.DatabaseError, UnicodeDecodeError):
            yield from _one_by_one(db, lock, after, remaining, crc)
            return
        for row in rows:
            if row[0] > after + 1:
                yield Gap(after + 1, row[0] - 1, MISSING)
            after = row[0]
            yield _whole(db, lock, row)
        if len(rows) < size:
            return
        remaining -= len(rows)


def _whole(db: sqlite3.Connection, lock: threading.RLock, row: Row) -> tuple[int, str] | Gap:
    seq, _, _, line, parts, _ = row
    if not is_intact(row):
        return Gap(seq, seq, CHANGED)
    if parts is None:
        return seq, line

    def text_of(name: str) -> str:
        stored = db.execute("SELECT text FROM blobs WHERE hash = ?", (name,)).fetchone()
        if not is_named(stored[0], name):
            raise LookupError(name)
        return str(stored[0])

    try:
        with lock:
            return seq, insert_strings(line, parts, text_of)
    except (sqlite3.DatabaseError, ValueError, TypeError, LookupError):
        return Gap(seq, seq, "a part of it is damaged")


def _one_by_one(
    db: sqlite3.Connection, lock: threading.RLock, after: int, remaining: int, crc: str
) -> Iterator[tuple[int, str] | Gap]:
    """Yield the readable rows and the gaps of a damaged file, queried one number at a time."""
    seq, bad_from = after, 0
    while remaining != 0 and not (bad_from and seq - bad_from > _HOPELESS):
        seq += 1
        try:
            with lock:
                row = db.execute(_NEXT_ROW.format(crc=crc), (seq,)).fetchone()
        except (sqlite3.DatabaseError, UnicodeDecodeError):
            bad_from = bad_from or seq
            continue
        if bad_from:
            yield Gap(bad_from, seq - 1, "the file is damaged here")
            bad_from = 0
        if row is None:
            return
        if row[0] > seq:
            yield Gap(seq, row[0] - 1, MISSING)
        seq, remaining = max(seq, row[0]), remaining - 1
        yield _whole(db, lock, row)
    if bad_from:
        yield Gap(bad_from, bad_from, "the rest of the file is damaged")


_LONGEST = 4_000
"""The most characters of one event that are indexed."""


def index_words(db: sqlite3.Connection, event: Event) -> None:
    """Add the words of one event to the search index, in the open transaction."""
    text = text_of(event)
    if text:
        db.execute("INSERT INTO words(rowid, text) VALUES (?, ?)", (event.seq, text[:_LONGEST]))


def text_of(event: Event) -> str:
    """Return the text of an event for the search index."""
    match event:
        case UserMessage(text=text) | ModelResponded(text=text):
            return text
        case ActionProposed():
            return " ".join((event.summary, *(value for value in event.arguments.values() if isinstance(value, str))))
        case ActionObserved():
            return observed_text(event.observation)
    return ""


def observed_text(observation: dict[str, object]) -> str:
    """Return all text blocks of a dumped observation, joined with newlines."""
    blocks = observation.get("content")
    if not isinstance(blocks, list | tuple):
        return ""
    strings = (block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") == "text")
    return "\n".join(text for text in strings if isinstance(text, str))


def words_of(text: str) -> list[str]:
    """Return the words of a query."""
    return re.findall(r"\w+", text)


def find_words(db: sqlite3.Connection, text: str, limit: int) -> list[int]:
    """Return the numbers of the newest events that contain, for each word of the text, a word that begins with it."""
    words = words_of(text)
    if not words:
        return []
    query = " ".join(f'"{word}"*' for word in words)
    rows = db.execute("SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT ?", (query, limit))
    return [row[0] for row in rows]
