"""The part of a session's log that a client reads first, and access to the older parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from workbench.protocol.events import Event
from workbench.session.storage.paging import WINDOW, digest, part, part_start
from workbench.session.storage.store import Store, StoreError

if TYPE_CHECKING:
    from workbench.session.storage.paging import Digest


class Past(Protocol):
    """The part of a log before the loaded events; read in threads. Every method may raise WorkbenchError."""

    def start(self, end: int) -> int:
        """Return the `seq` of the first event of the last part before event `end`; 1 if that part begins the log."""

    def part(self, end: int) -> Sequence[Event]:
        """Return the last part before event `end`."""


@dataclass(frozen=True)
class EventHistory:
    """The events to start with; with a `digest`, they are the end of the log and it summarizes what came before.

    Older parts, including those that a screen showed and dropped, are read from `past`.
    """

    events: Iterable[Event]
    past: Past | None = None
    digest: Digest | None = None

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)


class FilePast:
    """The older parts of a session file; other processes may append to it while it is read."""

    def __init__(self, path: Path, least: int = WINDOW) -> None:
        self._path = path
        self._least = least

    def start(self, end: int) -> int:
        """Return the `seq` of the first event of the last part before event `end`."""
        with Store.open(self._path, readonly=True) as store:
            return part_start(store, end, self._least)

    def part(self, end: int) -> Sequence[Event]:
        """Return the last part before event `end`."""
        with Store.open(self._path, readonly=True) as store:
            return list(part(store, part_start(store, end, self._least), end))


def read_history(store: Store, least: int = WINDOW) -> EventHistory:
    """Return the events that the open file holds now; the store is closed once they have been read.

    A part of the log has at least `least` events.
    """
    end, past = store.last_seq + 1, FilePast(store.path, least)
    try:
        start = part_start(store, end, least)
        if start > 1:
            return EventHistory(_read(store, start, end), past, digest(store, start))
    except StoreError:
        # The file is damaged: the readable events are read row by row.
        pass
    return EventHistory(_read(store, 1, end), past)


def _read(store: Store, start: int, end: int) -> Iterator[Event]:
    with store:
        yield from part(store, start, end)
