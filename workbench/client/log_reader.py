"""Reads the last part of a session's log, with which a client starts, and gives access to the earlier parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from workbench.client.client import EventHistory
from workbench.protocol.events import Event
from workbench.session.storage.paging import WINDOW, Branch, digest, part, part_start
from workbench.session.storage.store import Store, StoreError


class FilePast:
    """The earlier parts of a session file; other processes may append to the file meanwhile."""

    def __init__(self, path: Path, least: int = WINDOW, head: int | None = None) -> None:
        """Each part has at least `least` events. With a `head`, the session is read as of event `head`."""
        self._path = path
        self._least = least
        self._head = head

    def start(self, end: int) -> int:
        """Return the `seq` of the first event in the part that ends just before event `end`."""
        with Store.open(self._path, readonly=True) as store:
            return part_start(store, end, self._least)

    def part(self, end: int) -> Sequence[Event | Branch]:
        """Return the events of the part that ends just before event `end`."""
        with Store.open(self._path, readonly=True) as store:
            return list(part(store, part_start(store, end, self._least), end, self._head))


def read_history(store: Store, least: int = WINDOW, head: int | None = None) -> EventHistory:
    """Return the current events of the open file; the store is closed once they have been read.

    Each part, including the earlier ones that are read later, has at least `least` events. With a `head`, the session
    is read as of event `head`.
    """
    end, past = (store.last_seq if head is None else head) + 1, FilePast(store.path, least, head)
    try:
        start = part_start(store, end, least)
        if start > 1:
            return EventHistory(_read(store, start, end, head), past, digest(store, start, head))
    except StoreError:
        # The file is damaged: the readable events are read row by row.
        pass
    return EventHistory(_read(store, 1, end, head), past)


def _read(store: Store, start: int, end: int, head: int | None) -> Iterator[Event | Branch]:
    with store:
        yield from part(store, start, end, head)
