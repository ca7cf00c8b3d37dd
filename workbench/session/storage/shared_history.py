"""The history that a fork shares with other sessions: the fork's file refers to events in the files of those sessions.

On each connection to a fork's file, `events` and `blobs` include the shared rows, so that every query of a log works on
a fork too. The tables in the schema `main` have only the fork's own rows: the first event, and all after the shared
ones.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from pathlib import Path
from typing import Final, NamedTuple

from workbench.lazy_pattern import lazy_pattern
from workbench.protocol.events import Event
from workbench.session.storage.event_rows import index_words
from workbench.session.storage.store_files import companion_doubt, ownership_doubt, reading_uri

MOST_PARTS: Final = 8
"""The most sessions whose events a fork can share; SQLite attaches at most ten files."""
_CREATE: Final = """
CREATE TABLE IF NOT EXISTS shared(first INTEGER PRIMARY KEY, last INTEGER NOT NULL, session TEXT NOT NULL,
  at TEXT NOT NULL, workspace TEXT NOT NULL)"""
_EXISTS: Final = "SELECT 1 FROM main.sqlite_master WHERE type = 'table' AND name = 'shared'"
_PARTS: Final = "SELECT first, last, session, at, workspace FROM main.shared ORDER BY first"
_COLUMNS: Final = "seq, kind, at, json, parts"
_ID: Final = lazy_pattern(r"[a-z0-9][a-z0-9-]{0,79}", re.ASCII)


class SharedPart(NamedTuple):
    """Events `first` to `last` of a log are those of another session; event `last` happened `at` this time.

    `workspace` is the directory in which they happened. `session` is empty once the events were copied.
    """

    first: int
    last: int
    session: str
    at: str
    workspace: str


def shared_parts(db: sqlite3.Connection) -> list[SharedPart]:
    """Return the parts that the main file of a connection shares with other sessions, in order. Raises
    sqlite3.Error.
    """
    parts = all_parts(db)
    return [part for part in parts if isinstance(part.session, str) and _ID.fullmatch(part.session)][:MOST_PARTS]


def all_parts(db: sqlite3.Connection) -> list[SharedPart]:
    """Return the parts that the main file shares or has copied, in order. Raises sqlite3.Error."""
    return [SharedPart(*row) for row in db.execute(_PARTS)] if is_sharing(db) else []


def is_sharing(db: sqlite3.Connection) -> bool:
    """Return whether the main file belongs to a fork. Raises sqlite3.Error."""
    return db.execute(_EXISTS).fetchone() is not None


def parts_of(path: Path) -> list[SharedPart]:
    """Return the parts that a session file shares with other sessions; empty if it cannot be read."""
    return _read(path, shared_parts)


def ancestry_of(path: Path) -> list[SharedPart]:
    """Return the parts that a session file shares or has copied; empty if it cannot be read.

    A copied part names the session of the file itself.
    """
    return [part if part.session else part._replace(session=path.stem) for part in _read(path, all_parts)]


def _read(path: Path, read: Callable[[sqlite3.Connection], list[SharedPart]]) -> list[SharedPart]:
    with suppress(sqlite3.Error), closing(sqlite3.connect(reading_uri(path), uri=True, timeout=5)) as db:
        return read(db)
    return []


def set_parts(db: sqlite3.Connection, parts: Iterable[SharedPart]) -> None:
    """Replace the shared parts, in the open transaction. Raises sqlite3.Error."""
    db.execute(_CREATE)
    db.execute("DELETE FROM main.shared")
    db.executemany("INSERT INTO main.shared VALUES (?, ?, ?, ?, ?)", parts)


def attach_shared(path: Path, db: sqlite3.Connection) -> None:
    """Make `events` and `blobs` include the shared rows, as far as their files exist. Raises sqlite3.Error."""
    parts = shared_parts(db)
    if not parts:
        return
    events = [f"SELECT {_COLUMNS}, crc FROM main.events"]
    blobs = ["SELECT hash, text FROM main.blobs"]
    for number, part in enumerate(parts):
        name = _name(number)
        if not _attach(path.with_name(f"{part.session}{path.suffix}"), db, name, part):
            continue
        crc = "crc" if _has_checksums(db, name) else "-1"
        rows = f"{name}.events WHERE seq BETWEEN {int(part.first)} AND {int(part.last)}"
        events.append(f"SELECT {_COLUMNS}, {crc} AS crc FROM {rows}")
        blobs.append(f"SELECT hash, text FROM {name}.blobs")
    # the names of a temporary view hide those of the tables
    db.execute("PRAGMA temp_store = MEMORY")
    db.execute(f"CREATE TEMP VIEW events AS {' UNION ALL '.join(events)}")
    db.execute(f"CREATE TEMP VIEW blobs AS {' UNION ALL '.join(blobs)}")


def _name(number: int) -> str:
    return f"shared{number}"


def _attach(file: Path, db: sqlite3.Connection, name: str, part: SharedPart) -> bool:
    """Attach a file read-only as `name`; return False if it does not exist or lacks the last event of the part."""
    if not file.is_file():
        return False
    db.execute(f"ATTACH ? AS {name}", (reading_uri(file),))
    try:
        row = db.execute(f"SELECT at FROM {name}.events WHERE seq = ?", (part.last,)).fetchone()
    except sqlite3.Error:
        row = None
    if row is None or row[0] != part.at:
        db.execute(f"DETACH {name}")
        return False
    return True


def _has_checksums(db: sqlite3.Connection, name: str) -> bool:
    return any(column[1] == "crc" for column in db.execute(f"PRAGMA {name}.table_info(events)"))


def copy_part(db: sqlite3.Connection, part: SharedPart, events: Iterable[Event]) -> None:
    """Copy an attached part, whose events are `events`, into the main file, in the open transaction.

    Raises sqlite3.Error.
    """
    for event in events:
        index_words(db, event)
    name, rows = _name(shared_parts(db).index(part)), "seq BETWEEN ? AND ?"
    crc = "crc" if _has_checksums(db, name) else "-1"
    span = (part.first, part.last)
    db.execute(f"INSERT INTO main.events SELECT {_COLUMNS}, {crc} FROM {name}.events WHERE {rows}", span)
    db.execute(
        f"""INSERT OR IGNORE INTO main.blobs SELECT hash, text FROM {name}.blobs WHERE hash IN (
        SELECT json_extract(value, '$[1]') FROM {name}.events, json_each(parts) WHERE {rows})""",
        span,
    )
    db.execute("UPDATE main.shared SET session = '' WHERE first = ?", (part.first,))


def rename_part(db: sqlite3.Connection, session: str, other: str) -> None:
    """Make the main file share with the session `other` what it has shared with `session`, in the open transaction.

    Raises sqlite3.Error.
    """
    db.execute("UPDATE main.shared SET session = ? WHERE session = ?", (other, session))


def missing_history(db: sqlite3.Connection) -> str:
    """Describe the first shared part whose file could not be attached; empty if all were.

    Raises sqlite3.Error.
    """
    attached = {row[1] for row in db.execute("PRAGMA database_list")}
    missing = [part for number, part in enumerate(shared_parts(db)) if _name(number) not in attached]
    if not missing:
        return ""
    part = missing[0]
    events = f"event {part.first} is" if part.first == part.last else f"events {part.first} to {part.last} are"
    return f"{events} in the session {part.session}, which was deleted or replaced"


def sharing_doubt(path: Path) -> str:
    """Return why a file that a fork reads may be somebody else's, as words to follow the fork's name; empty if none
    may.
    """
    for part in parts_of(path):
        file = path.with_name(f"{part.session}{path.suffix}")
        if file.exists() and (reason := ownership_doubt(file) or companion_doubt(file)):
            return f"shares events with {part.session}, which {reason}"
    return ""
