"""The copy of a session file on another machine, which grows with that session; no engine of this machine opens it.

The copy is a session file like any other, so that lists, search, exports and the time view can read it; it also
contains the URL of the session. Its events are not signed, so they grant no permissions here.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from workbench.config.locations import Locations, private_directory
from workbench.errors import UsageError
from workbench.protocol.events import Event
from workbench.session.session_names import session_path
from workbench.session.storage.event_rows import index_words, write_row
from workbench.session.storage.origin import machine_of, origin_of, write_origin
from workbench.session.storage.store import Store, StoreError, remove_if_empty

_LAST = "SELECT coalesce(max(seq), 0) FROM main.events"


class Mirror:
    """One copy, open for writing. Several processes may write the events of the same session to it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        # The session itself is on the other machine's disk, so a commit here need not wait for the disk.
        next(store.query("PRAGMA synchronous = NORMAL"), None)

    @classmethod
    def open(cls, locations: Locations, session_id: str, url: str) -> Mirror:
        """Open the copy of a session on the machine of `url`, or create it.

        Raises WorkbenchError, for example if a session with this id exists here that is not a copy from that machine.
        """
        path = session_path(locations, session_id)
        private_directory(path.parent)
        if not path.exists():
            return cls(Store.create(path, lambda db: write_origin(db, url)))
        origin = origin_of(path)
        if machine_of(origin) != machine_of(url):
            owner = f"a copy from {machine_of(origin)}" if origin else "a session of this machine"
            raise UsageError(f"{session_id} is {owner}, so the one on {machine_of(url)} cannot be copied")
        return cls(Store.open(path, is_copy=True))

    @property
    def path(self) -> Path:
        """The path of the copy."""
        return self._store.path

    @property
    def last_seq(self) -> int:
        """The number of the last event in the copy."""
        return self._store.last_seq

    def append(self, events: Sequence[Event]) -> None:
        """Write the next events with the numbers that they have; those already there are skipped.

        Raises StoreError, also if events in between are missing.
        """

        def write(db: sqlite3.Connection) -> None:
            (last,) = db.execute(_LAST).fetchone()
            for event in events:
                if event.seq > last:
                    index_words(db, write_row(db, event))

        self._store.check_not_replaced()
        if events and events[0].seq > self._store.refresh() + 1:
            raise StoreError(f"event {self.last_seq + 1} did not arrive for the copy {self.path}")
        try:
            self._store.change(write)
        except StoreError:
            with suppress(StoreError):  # the transaction may have ended by itself
                next(self._store.query("ROLLBACK"), None)
            raise
        self._store.refresh()

    def close(self, state_directory: Path) -> None:
        """Close the file. If it has no message of the user, delete it and `state_directory`, as the other machine
        does.
        """
        remove_if_empty(self._store, state_directory)
        self._store.close()
