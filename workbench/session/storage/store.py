"""The session file: an append-only log of events in SQLite; the engine writes it while front ends read it.

The functions at the end read a file when it is opened or closed: its owner, its settings, whether it is empty.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from msgspec.structs import replace

from workbench.errors import WorkbenchError
from workbench.protocol.events import Event, SessionStarted, SettingsChanged, UserMessage, event_from_json
from workbench.session.session_names import EDITOR
from workbench.session.storage.event_rows import (
    UNCHECKED,
    Gap,
    LogMark,
    find_damage,
    find_words,
    index_words,
    mark_of,
    read_rows,
    write_line,
    write_row,
)
from workbench.session.storage.file_identity import Identity, identity_of, is_disk_read_only, is_still
from workbench.session.storage.moved_paths import moved, moves_of
from workbench.session.storage.origin import check_is_here, origin_in
from workbench.session.storage.shared_history import (
    attach_shared,
    missing_history,
    sharing_doubt,
)
from workbench.session.storage.signatures import sign
from workbench.session.storage.sqlite_pages import is_log_damaged
from workbench.session.storage.store_files import (
    companion_doubt,
    delete_file,
    deny_writing_to_others,
    log_of,
    ownership_doubt,
    reading_uri,
)
from workbench.text import first_line

APPLICATION_ID = 0x6F687731
SCHEMA_VERSION = 2
"""Version 2 has a checksum for each event; programs that know only version 1 open it read-only."""
REPAIR: Final = "`ohw sessions repair {}` saves what can be read"
"""The advice for a damaged file; the name of the session is filled in."""
_QUERY_ROWS = 1_000
_SETTINGS = "SELECT seq FROM events WHERE seq > ? AND kind = 'settings_changed' ORDER BY seq"
# `blobs` has row ids: in a table without them, SQLite reads each text whole that a search for a hash passes.
_SCHEMA = f"""
PRAGMA journal_mode = WAL;
BEGIN;
CREATE TABLE events(seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, at TEXT NOT NULL, json TEXT NOT NULL, parts TEXT,
  crc INTEGER NOT NULL);
CREATE TABLE blobs(hash TEXT PRIMARY KEY NOT NULL, text TEXT NOT NULL);
CREATE VIRTUAL TABLE words USING fts5(text, content='');
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {SCHEMA_VERSION};
COMMIT;
"""
_ADD_CHECKSUMS = f"ALTER TABLE events ADD COLUMN crc INTEGER NOT NULL DEFAULT {UNCHECKED}"


class StoreError(WorkbenchError):
    """A session file cannot be read or written; the message says which file, why, and what to do."""


class DamagedFile(StoreError):
    """A session file is damaged; `reason` describes the damage."""

    def __init__(self, path: Path, reason: str) -> None:
        repair = REPAIR.format(path.stem)
        super().__init__(f"the session file {path} is damaged ({reason}) and was left as it is; {repair}")
        self.reason = reason


class Store:
    """One session file. `gaps` lists the events that could not be read; a file of a newer version is `readonly`."""

    def __init__(self, path: Path, db: sqlite3.Connection, *, readonly: bool) -> None:
        self.path = path
        self.readonly = readonly
        self.gaps: list[Gap] = []
        self._db = db
        self._lock = threading.RLock()
        self._closed = False
        self._identity = identity_of(path)
        self._wal: Identity | None = None
        self._crc, self._moves = _checksums_of(path, db), moves_of(db)
        self.last_seq = _last_seq(db)
        self._data_version = self._version()
        self.was_shared = False
        """Whether another process has been seen to write to the open file."""

    @classmethod
    def create(cls, path: Path, write: Callable[[sqlite3.Connection], None] | None = None) -> Store:
        """Create a file with mode 0600 and what `write` adds, or none. Raises StoreError, also if the file exists."""
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        except FileExistsError as error:
            raise StoreError(f"{path} exists already; choose another name") from error
        except OSError as error:
            raise StoreError(f"cannot create the session file {path}: {error.strerror}") from error
        try:
            return cls(path, _with_tables(path, write), readonly=False)
        except sqlite3.Error as error:
            delete_file(path)
            raise _store_error(path, error) from error

    @classmethod
    def open(cls, path: Path, readonly: bool = False, *, is_checked: bool = False, is_copy: bool = False) -> Store:
        """Open an existing file. Raises StoreError. A damaged file opens only with `readonly`, and then fills `gaps`.
        With `is_checked`, the file is known to be as it was closed: only its write-ahead log is checked. A copy of
        another machine's session opens only with `readonly` or `is_copy`.
        """
        if not path.is_file():
            raise StoreError(f"there is no session file {path}; `ohw sessions` lists the sessions there are")
        try:
            if readonly:
                return cls(path, _opened(path, readonly), readonly=True)
            return cls._open_to_write(path, is_checked, is_copy)
        except sqlite3.Error as error:
            raise _store_error(path, error) from error

    @classmethod
    def _open_to_write(cls, path: Path, is_checked: bool, is_copy: bool) -> Store:
        db = _opened(path, readonly=True)  # check before anything could be written: a damaged file stays as it is
        try:
            if db.execute("PRAGMA user_version").fetchone()[0] > SCHEMA_VERSION:
                return cls(path, db, readonly=True)
            check_is_here(path.stem, "" if is_copy else origin_in(db))
            if not is_checked:
                check_whole(path, db)
            check_log(path)
        except OSError as error:
            db.close()
            raise StoreError(f"the session file {path} cannot be read: {error.strerror or error}") from error
        except (sqlite3.Error, WorkbenchError):
            db.close()
            raise
        db.close()
        deny_writing_to_others(path)
        return cls(path, _opened(path, readonly=False), readonly=False)

    def append(self, *events: Event, lasting: bool = True) -> tuple[Event, ...]:
        """Number the events, commit them together and return them as stored.

        On return the commit has reached the disk; if `lasting` is false, it survives a crash of the process, but
        perhaps not of the machine. If StoreError is raised, none of the events is in the file.
        """
        with self._lock:
            if self.readonly:
                raise StoreError(f"the session {self.path.stem} is open for reading only, nothing can be added")
            self.check_not_replaced()
            numbered = tuple(replace(event, seq=seq) for seq, event in enumerate(events, self.last_seq + 1))
            try:
                written = self._commit(numbered, lasting)
            except sqlite3.Error as error:
                raise _store_error(self.path, error) from error
            self._seal()
            self.last_seq += len(written)
            wal = log_of(self.path)
            self._wal = identity_of(wal) if self._wal is None or is_still(self._wal, wal) else self._wal
            return written

    def change(self, write: Callable[[sqlite3.Connection], None]) -> None:
        """Let `write` change the file in one transaction; reopen it to see new shared rows. Raises StoreError."""
        with self._lock:
            try:
                self._db.execute("BEGIN IMMEDIATE")
                write(self._db)
                self._db.execute("COMMIT")
            except sqlite3.Error as error:
                raise _store_error(self.path, error) from error
            self._seal()

    def restore(self, entries: Iterable[Event | str]) -> None:
        """Write events with the numbers they already have, all or none. Raises StoreError.

        Events of an unknown kind are passed as JSON.
        """
        with self._lock:
            try:
                self._db.execute("BEGIN IMMEDIATE")
                for entry in entries:
                    if isinstance(entry, str):
                        data = json.loads(entry)
                        write_line(self._db, data["seq"], str(data.get("kind")), str(data.get("at")), entry)
                    else:
                        index_words(self._db, write_row(self._db, entry))
                self._db.execute("COMMIT")
            except sqlite3.Error as error:
                raise _store_error(self.path, error) from error
            self.last_seq = _last_seq(self._db)

    def check_not_replaced(self) -> None:
        """Raise StoreError if the path no longer leads to the open file, or if its disk has become read-only.

        SQLite keeps writing to a file that was deleted, moved or truncated, where the events would be lost, and may
        write to one whose path is covered by a read-only mount. A disk that fails turns read-only before a write says
        so.
        """
        is_here = self._identity is not None and is_still(self._identity, self.path)
        if not is_here or (self._wal is not None and not is_still(self._wal, log_of(self.path))):
            raise StoreError(f"the session file {self.path} was deleted, moved or replaced; start a new session")
        if not self.readonly and is_disk_read_only(self.path):
            raise StoreError(f"the disk has become read-only; make it writable again (session file {self.path})")

    def others_wrote(self) -> bool:
        """Return whether another process has written to the open file since the last call."""
        with self._lock:
            before, self._data_version = self._data_version, self._version()
            has_changed = before != self._data_version
            self.was_shared |= has_changed
        return has_changed

    def mark(self, last: int, since: LogMark | None = None) -> LogMark | None:
        """Return the mark of the first `last` events, see `mark_of`; None also if they cannot be read."""
        if self._crc != "crc":
            return None
        try:
            with self._lock:
                return mark_of(self._db, last, since or LogMark())
        except (sqlite3.Error, ValueError, TypeError, OverflowError, AttributeError):
            return None

    def _version(self) -> int:
        """Return a number that SQLite changes when another connection commits; 0 if the file cannot be read."""
        with suppress(sqlite3.Error):
            return int(self._db.execute("PRAGMA data_version").fetchone()[0])
        return 0

    def _commit(self, events: tuple[Event, ...], lasting: bool) -> tuple[Event, ...]:
        self._db.execute(f"PRAGMA synchronous = {'FULL' if lasting else 'NORMAL'}")
        self._db.execute("BEGIN IMMEDIATE")
        try:
            if self._crc != "crc":  # the file is from a version without checksums
                self._db.execute(_ADD_CHECKSUMS)
                self._db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            written = tuple(write_row(self._db, event) for event in events)
            for event in written:
                index_words(self._db, event)
            sign(self._db, self.path.stem, written)
            self._db.execute("COMMIT")
            self._crc = "crc"
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise
        return written

    def _seal(self) -> None:
        """Append a commit of one page that changes nothing.

        If the checksum of the last commit is wrong, SQLite treats that commit as unfinished and silently ignores it; a
        seal after it proves that it was complete (see `sqlite_pages.is_log_damaged`). The seal may reach the disk
        later.
        """
        # a full disk: the events are written, and the next commit reports the error
        with suppress(sqlite3.Error):
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")

    def lines(self, after: int = 0, limit: int | None = None) -> Iterator[tuple[int, str]]:
        """Yield (seq, JSON) of at most `limit` events after `after`; skip damaged rows and record them in `gaps`."""
        for row in read_rows(self._db, self._lock, after, limit, self._crc):
            if isinstance(row, Gap):
                self._note(row)
            else:
                yield row

    def events(self, after: int = 0, limit: int | None = None) -> Iterator[Event]:
        """Yield the events after `after`; events of unknown kind or wrong shape are skipped and noted in `gaps`."""
        for seq, line in self.lines(after, limit):
            try:
                yield moved(event_from_json(line), self._moves)
            except ValueError as error:
                self._note(Gap(seq, seq, first_line(f"not understood: {error}", 120)))

    def _note(self, gap: Gap) -> None:
        if gap not in self.gaps:
            self.gaps.append(gap)

    def search(self, text: str, limit: int = 100) -> list[int]:
        """Return the numbers of the newest events with all words of the text, or longer ones that start with them."""
        with self._lock:
            try:
                return find_words(self._db, text, limit)
            except sqlite3.Error as error:
                raise _store_error(self.path, error) from error

    def query(self, sql: str, *values: object) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a SELECT in batches, such as those of a long log without payloads. Raises StoreError."""
        try:
            with self._lock:
                cursor = self._db.execute(sql, values)
                rows = cursor.fetchmany(_QUERY_ROWS)
            while rows:
                yield from rows
                with self._lock:
                    rows = cursor.fetchmany(_QUERY_ROWS)
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise StoreError(f"the session file {self.path} cannot be searched ({first_line(str(error))})") from error

    def refresh(self) -> int:
        """Read the number of the last event, which another process may have added; set and return `last_seq`."""
        with self._lock:
            self.last_seq = max(self.last_seq, _last_seq(self._db))
            return self.last_seq

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def _with_tables(path: Path, write: Callable[[sqlite3.Connection], None] | None) -> sqlite3.Connection:
    # Each change of a new file would wait for the disk several times. Nothing is promised before it is complete, so the
    # checkpoint at the end brings all of it to the disk at once.
    db = _connect(path, "rw")
    try:
        db.execute("PRAGMA synchronous = OFF")
        db.executescript(_SCHEMA)
        if write is not None:
            db.execute("BEGIN")
            write(db)
            db.execute("COMMIT")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.Error:
        db.close()
        raise
    return db


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    uri = reading_uri(path) if mode == "ro" else f"{path.absolute().as_uri()}?mode={mode}"
    return sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False, timeout=5)


def _opened(path: Path, readonly: bool) -> sqlite3.Connection:
    """Return a connection to a session file. Raises StoreError if the file is not one, or sqlite3.Error."""
    db = _connect(path, "ro" if readonly else "rw")
    try:
        db.execute("PRAGMA trusted_schema = OFF")
        db.execute("PRAGMA cell_size_check = ON")
        if db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
            raise StoreError(f"{path} is not a session file; `ohw sessions` lists the sessions there are")
        attach_shared(path, db)
        db.execute("SELECT seq, parts FROM events LIMIT 0")
    except (sqlite3.Error, StoreError):
        db.close()
        raise
    return db


def _checksums_of(path: Path, db: sqlite3.Connection) -> str:
    """Return the name of the checksum column, or its substitute for version 1. Raises StoreError or sqlite3.Error."""
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if any(column[1] == "crc" for column in db.execute("PRAGMA table_info(events)")):
        return "crc"
    if version != 1:
        raise DamagedFile(path, "its checksums are missing")
    return str(UNCHECKED)


def check_whole(path: Path, db: sqlite3.Connection) -> None:
    """Raise StoreError if the file is damaged or a checksum differs, or sqlite3.Error if that cannot be checked."""
    damage = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    if damage != "ok":
        raise DamagedFile(path, first_line(str(damage)))
    if missing := missing_history(db):
        raise DamagedFile(path, missing)
    try:
        damage = find_damage(db, _checksums_of(path, db))
    except UnicodeDecodeError:
        damage = "a text is not UTF-8"
    if damage:
        raise DamagedFile(path, damage)


def check_log(path: Path) -> None:
    """Raise DamagedFile if the write-ahead log of a file that no process is writing is damaged; may raise OSError."""
    if is_log_damaged(path):
        raise DamagedFile(path, "what was written last, beside it, cannot be read")


def _last_seq(db: sqlite3.Connection) -> int:
    try:
        row = db.execute("SELECT seq FROM events ORDER BY seq DESC LIMIT 1").fetchone()
        return int(row[0]) if row else 0
    except sqlite3.DatabaseError:
        return 0  # the last page is damaged; reading continues row by row


_ADVICE = {
    "SQLITE_FULL": "the disk is full; free some space",
    "SQLITE_IOERR": "the disk failed, is full or read-only; free some space and check the disk",
    "SQLITE_READONLY": "it cannot be written; check its permissions and those of its directory",
    "SQLITE_CANTOPEN": "it cannot be opened; check its permissions and those of its directory",
    "SQLITE_PERM": "it cannot be opened; check its permissions and those of its directory",
    "SQLITE_BUSY": "it is in use by another program; close that one first",
    "SQLITE_LOCKED": "it is in use by another program; close that one first",
    "SQLITE_CONSTRAINT": "another program has written to it; open it again",
}


def _store_error(path: Path, error: sqlite3.Error) -> StoreError:
    name = getattr(error, "sqlite_errorname", "") or ""
    for start, advice in _ADVICE.items():
        if name.startswith(start):
            is_of_disk = advice.startswith("the disk")  # the advice comes first, because the end of the line may be cut
            return StoreError(f"{advice} (session file {path})" if is_of_disk else f"the session file {path}: {advice}")
    if name == "SQLITE_NOTADB":
        return StoreError(f"{path} is not a session file, or its start is damaged; {REPAIR.format(path.stem)}")
    return DamagedFile(path, first_line(str(error)))


def not_ours(path: Path) -> str:
    """Return why a session file may be somebody else's, as words to follow its name; empty if nothing suggests it."""
    if reason := ownership_doubt(path) or companion_doubt(path):
        return reason
    directory = path.parent.stat()
    if directory.st_uid != os.getuid() or directory.st_mode & 0o022:
        return "is in a directory that other users can write to"
    with Store.open(path, readonly=True) as store:
        if reason := sharing_doubt(path):
            return reason
        first = next(iter(store.events(0, 1)), None)
    named = first.id if isinstance(first, SessionStarted) else path.stem
    return "" if named == path.stem else f"was started as {named}"


def hold(store: Store) -> None:
    """Make all queries read the file as it is now, until it is closed; that is faster. Raises StoreError."""
    for statement in ("BEGIN", "SELECT seq FROM events LIMIT 1"):  # the transaction begins with the first read
        next(store.query(statement), None)


def first_event(store: Store) -> SessionStarted:
    """Return the session's first event. Raises StoreError if it cannot be read."""
    for event in store.events(0, 1):
        if isinstance(event, SessionStarted):
            return event
    raise StoreError(f"the session file {store.path} has no first event; start a new session")


def last_model(store: Store, after: int = 0) -> str:
    """Return the model that was set last, by an event after `after`; "" if none set it. Raises StoreError."""
    model = ""
    for (seq,) in store.query(_SETTINGS, after):
        for event in store.events(seq - 1, 1):
            if isinstance(event, SettingsChanged):
                model = event.model or model
    return model


def remove_if_empty(store: Store, directory: Path) -> None:
    """Delete a session without a user message, and its tools' `directory`.

    One that is not fully readable is kept, and one whose id an editor has: the editor may load it later.
    """
    has_words = any(isinstance(event, UserMessage) for event in store.events())
    if store.readonly or has_words or store.gaps or (directory / EDITOR).exists():
        return
    store.close()
    delete_file(store.path)
    shutil.rmtree(directory, ignore_errors=True)
