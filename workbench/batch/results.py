"""The outcomes of a run, in an SQLite database with one row for each attempt; a killed writer loses none it has stored.

The table `attempts` is for users' own queries too: its columns are the fields of `AttemptOutcome`, and `state`.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import msgspec

from workbench.batch.attempt import AttemptOutcome
from workbench.errors import WorkbenchError
from workbench.files.read_only_databases import opened_to_read
from workbench.text import visible_path

_TYPES: Final = {"attempt": "INTEGER", "solved": "INTEGER", "check_status": "INTEGER", "steps": "INTEGER"} | {
    **dict.fromkeys(("input", "cached", "output", "unpriced", "patch_lines"), "INTEGER"),
    **dict.fromkeys(("cost", "seconds", "total_seconds", "started"), "REAL"),
}
_COLUMNS: Final = (*AttemptOutcome.__struct_fields__, "state")
_NAMES: Final = ", ".join(f'"{name}"' for name in _COLUMNS)
_CREATE: Final = (
    "CREATE TABLE IF NOT EXISTS attempts ("
    + ", ".join(f'"{name}" {_TYPES.get(name, "TEXT")}' for name in _COLUMNS)
    + ", PRIMARY KEY (task, model, attempt)) STRICT"
)
_INSERT: Final = f"INSERT OR REPLACE INTO attempts ({_NAMES}) VALUES ({', '.join('?' * len(_COLUMNS))})"
_TICK_NS: Final = 1_000_000_000
"""Nanoseconds in which a clock of a file system advances for certain."""


class Results:
    """Stores outcomes, which are on the disk when `add` returns: one transaction for all that have come meanwhile."""

    def __init__(self, path: Path) -> None:
        """Open or create the database. Raises WorkbenchError."""
        self._path = path
        try:
            self._connection = sqlite3.connect(path, isolation_level=None)
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = FULL")
            self._connection.execute(_CREATE)
        except sqlite3.Error as error:
            raise self._problem(error) from None

    def add(self, *outcomes: AttemptOutcome) -> None:
        """Store outcomes, each in place of an earlier one of the same attempt. Raises WorkbenchError."""
        rows = [[*msgspec.structs.astuple(outcome), outcome.state] for outcome in outcomes]
        if not rows:
            return
        try:
            with self._connection:
                self._connection.execute("BEGIN")
                self._connection.executemany(_INSERT, rows)
        except sqlite3.Error as error:
            raise self._problem(error) from None

    def remove(self, names: tuple[str, str, int]) -> None:
        """Remove the outcome of an attempt, which is repeated. Raises WorkbenchError."""
        try:
            self._connection.execute("DELETE FROM attempts WHERE (task, model, attempt) = (?, ?, ?)", names)
        except sqlite3.Error as error:
            raise self._problem(error) from None

    def outcome_of(self, names: tuple[str, str, int]) -> AttemptOutcome | None:
        """Return the outcome of the attempt with these names, if it has one. Raises WorkbenchError."""
        query = f"SELECT {_NAMES} FROM attempts WHERE (task, model, attempt) = (?, ?, ?)"
        try:
            row = self._connection.execute(query, names).fetchone()
        except sqlite3.Error as error:
            raise self._problem(error) from None
        return _outcome(row) if row is not None else None

    def _problem(self, error: sqlite3.Error) -> WorkbenchError:
        return WorkbenchError(f"{visible_path(str(self._path))} cannot be used: {error}")

    def close(self) -> None:
        """Close the database, which is then a single file."""
        self._connection.close()


def read_outcomes(path: Path) -> list[AttemptOutcome]:
    """Return all outcomes in a database, ordered by task, model and attempt; none if there is no database yet.

    Raises WorkbenchError if it cannot be read.
    """
    if not path.exists():
        return []
    try:
        with opened_to_read(path) as connection:
            # A run that is just starting has created the file, and not yet the table.
            has_table = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'attempts'").fetchone()
            query = f"SELECT {_NAMES} FROM attempts ORDER BY task, model, attempt"
            rows = connection.execute(query).fetchall() if has_table else []
        return list(map(_outcome, rows))
    except (sqlite3.Error, OSError, msgspec.ValidationError) as error:
        raise WorkbenchError(f"{visible_path(str(path))} cannot be read: {error}") from None


class ResultsReader:
    """Reads the outcomes of a run again and again, each row only once; other processes may write meanwhile.

    The database is closed between two reads: an open reader would keep its writer from making it a single file again.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files: tuple[object, ...] = ()
        """The times and sizes of the files that were read last."""
        self._row = 0
        """The last row that was read, and below what it says."""
        self._last: tuple[Any, ...] | None = None
        self.outcomes: dict[tuple[str, str, int], AttemptOutcome] = {}

    def refresh(self) -> bool:
        """Read what is new, and return whether there was anything. Raises WorkbenchError."""
        files = tuple(map(_stamp, (self._path, self._path.with_name(f"{self._path.name}-wal"))))
        if files == self._files or files[0] is None:
            return False
        try:
            with opened_to_read(self._path) as connection:
                is_changed = self._read(connection)
        except (sqlite3.Error, OSError, msgspec.ValidationError) as error:
            raise WorkbenchError(f"{visible_path(str(self._path))} cannot be read: {error}") from None
        # Two writes within one tick of the clock have the same time, so a recent file is read once more.
        newest = max(each[0] for each in files if each is not None)
        self._files = files if time.time_ns() - newest > _TICK_NS else ()
        return is_changed

    def _read(self, connection: sqlite3.Connection) -> bool:
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'attempts'").fetchone():
            return False
        connection.execute("BEGIN")  # all queries see the same rows
        count = connection.execute("SELECT count(*) FROM attempts").fetchone()[0]
        rows = self._rows_after(connection, self._row)
        was_removed = count != len(self.outcomes) + len(rows)
        if was_removed or (self._last is not None and self._last_row(connection) != self._last):
            # Attempts are repeated: their rows were removed, and a new row may have the number of a removed one.
            self.outcomes, self._row = {}, 0
            rows = self._rows_after(connection, 0)
            was_removed = True
        for row in rows:
            outcome = _outcome(row[1:])
            self.outcomes[outcome.names] = outcome
        if rows:
            self._row = rows[-1][0]
        self._last = self._last_row(connection)
        return bool(rows) or was_removed

    def _rows_after(self, connection: sqlite3.Connection, row: int) -> list[tuple[Any, ...]]:
        query = f"SELECT rowid, {_NAMES} FROM attempts WHERE rowid > ? ORDER BY rowid"
        return connection.execute(query, [row]).fetchall()

    def _last_row(self, connection: sqlite3.Connection) -> tuple[Any, ...] | None:
        query = "SELECT task, model, attempt, started FROM attempts WHERE rowid = ?"
        row: tuple[Any, ...] | None = connection.execute(query, [self._row]).fetchone()
        return row


def _stamp(path: Path) -> tuple[int, int] | None:
    """Return the time of the last write and the size of a file; None if there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _outcome(row: Iterable[Any]) -> AttemptOutcome:
    fields = dict(zip(_COLUMNS, row, strict=True))
    del fields["state"]
    return msgspec.convert(fields, AttemptOutcome, strict=False)
