"""The outcomes of a run, in an SQLite database with one row for each attempt; a killed writer loses none it has stored.

The table `attempts` is for users' own queries too: its columns are the fields of `AttemptOutcome`, and `state`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import msgspec

from workbench.batch.attempt import AttemptOutcome
from workbench.errors import WorkbenchError
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


class Results:
    """Stores outcomes, each in a transaction of its own that is on the disk when `add` returns."""

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

    def add(self, outcome: AttemptOutcome) -> None:
        """Store an outcome in place of an earlier one of the same attempt. Raises WorkbenchError."""
        values = [*msgspec.structs.astuple(outcome), outcome.state]
        try:
            self._connection.execute(_INSERT, values)
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
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            # A run that is just starting has created the file, and not yet the table.
            has_table = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'attempts'").fetchone()
            query = f"SELECT {_NAMES} FROM attempts ORDER BY task, model, attempt"
            rows = connection.execute(query).fetchall() if has_table else []
        return list(map(_outcome, rows))
    except (sqlite3.Error, msgspec.ValidationError) as error:
        raise WorkbenchError(f"{visible_path(str(path))} cannot be read: {error}") from None


def _outcome(row: Iterable[Any]) -> AttemptOutcome:
    fields = dict(zip(_COLUMNS, row, strict=True))
    del fields["state"]
    return msgspec.convert(fields, AttemptOutcome, strict=False)
