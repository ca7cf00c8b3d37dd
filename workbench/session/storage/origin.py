"""The URL of a session of which this machine has only a copy (see `mirror`), stored in that copy."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

from workbench.errors import UsageError
from workbench.session.storage.store_files import reading_uri
from workbench.text import first_line

_CREATE: Final = "CREATE TABLE origin(url TEXT NOT NULL)"
_LONGEST: Final = 5_000


def write_origin(db: sqlite3.Connection, url: str) -> None:
    """Mark a new session file as a copy of the session at `url`. Raises sqlite3.Error."""
    db.execute(_CREATE)
    db.execute("INSERT INTO origin VALUES (?)", (url,))


def origin_in(db: sqlite3.Connection) -> str:
    """Return the URL of the session of which an open file is a copy; empty if it is not a copy."""
    with suppress(sqlite3.OperationalError):  # there is no such table
        row = db.execute("SELECT url FROM main.origin").fetchone()
        return first_line(str(row[0]), _LONGEST) if row else ""
    return ""


def origin_of(path: Path) -> str:
    """Return the URL of the session of which a file is a copy; empty if it is not a copy or cannot be read."""
    try:
        with closing(sqlite3.connect(reading_uri(path), uri=True, timeout=5)) as db:
            return origin_in(db)
    except (sqlite3.Error, OSError):
        return ""


def machine_of(url: str) -> str:
    """Return the scheme, user and machine of a URL; empty if the URL is."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}" if url else ""


def check_is_here(session_id: str, origin: str) -> None:
    """Raise UsageError if a session is a copy: only the machine on which it runs may continue, fork or repair it."""
    if origin:
        raise UsageError(f"the session {session_id} is on {machine_of(origin)}; use `ohw resume {session_id}`")
