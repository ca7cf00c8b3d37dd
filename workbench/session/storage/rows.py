"""Rows of the event table: how an event is written and read, also from a damaged file; used by the store."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from workbench.session.events import EVENT, Event
from workbench.session.storage.blobs import LIMIT, put_back, take_out
from workbench.text import well_formed

_BATCH = 1_000
_HOPELESS = 5_000
"""So many unreadable rows in a row, with no known end: the rest of the file is given up."""
_ROWS = "SELECT seq, json, parts FROM events WHERE seq > ? ORDER BY seq LIMIT ?"


@dataclass(frozen=True)
class Gap:
    """Events `first`..`last` of a log cannot be shown; `reason` is one line."""

    first: int
    last: int
    reason: str


def write_row(db: sqlite3.Connection, event: Event) -> Event:
    """Insert a numbered event in the open transaction; returns it as it will be read back."""
    event, line = _as_json(event)
    parts: str | None = None
    if len(line) > LIMIT:
        payload = json.loads(line)
        places, texts = take_out(payload)
        if places:
            db.executemany("INSERT OR IGNORE INTO blobs VALUES (?, ?)", texts.items())
            line, parts = json.dumps(payload, ensure_ascii=False), json.dumps(places)
    db.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?)", (event.seq, event.kind, event.at.isoformat(), line, parts))
    return event


def _as_json(event: Event) -> tuple[Event, str]:
    try:
        return event, event.model_dump_json()
    except ValueError:  # a lone surrogate from a tool or a model cannot be stored
        clean: Event = EVENT.validate_python(_clean(event.model_dump()))
        return clean, clean.model_dump_json()


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, dict):
        return {_clean(name): _clean(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(part) for part in value]
    return value


def read_rows(
    db: sqlite3.Connection, lock: threading.RLock, after: int, limit: int | None
) -> Iterator[tuple[int, str] | Gap]:
    """(seq, JSON) in order, and a Gap for what cannot be read; takes the lock for one batch at a time."""
    left = limit if limit is not None else -1
    while left != 0:
        size = min(_BATCH, left) if left > 0 else _BATCH
        try:
            with lock:
                rows = db.execute(_ROWS, (after, size)).fetchall()
        except (sqlite3.DatabaseError, UnicodeDecodeError):
            yield from _one_by_one(db, lock, after, left)
            return
        for seq, line, parts in rows:
            yield _whole(db, lock, seq, line, parts)
        if len(rows) < size:
            return
        after, left = rows[-1][0], left - len(rows)


def _whole(
    db: sqlite3.Connection, lock: threading.RLock, seq: int, line: str, parts: str | None
) -> tuple[int, str] | Gap:
    if parts is None:
        return seq, line

    def text_of(name: str) -> str:
        row = db.execute("SELECT text FROM blobs WHERE hash = ?", (name,)).fetchone()
        return str(row[0])

    try:
        with lock:
            return seq, put_back(line, parts, text_of)
    except (sqlite3.DatabaseError, ValueError, TypeError, LookupError):
        return Gap(seq, seq, "a part of it is damaged")


def _one_by_one(
    db: sqlite3.Connection, lock: threading.RLock, after: int, left: int
) -> Iterator[tuple[int, str] | Gap]:
    """The readable rows of a damaged file, found by asking for each number."""
    seq, bad_from = after, 0
    while left != 0 and not (bad_from and seq - bad_from > _HOPELESS):
        seq += 1
        try:
            with lock:
                row = db.execute("SELECT seq, json, parts FROM events WHERE seq >= ? LIMIT 1", (seq,)).fetchone()
        except (sqlite3.DatabaseError, UnicodeDecodeError):
            bad_from = bad_from or seq
            continue
        if bad_from:
            yield Gap(bad_from, seq - 1, "the file is damaged here")
            bad_from = 0
        if row is None:
            return
        seq, left = row[0], left - 1
        yield _whole(db, lock, *row)
    if bad_from:
        yield Gap(bad_from, bad_from, "the file is damaged from here on")
