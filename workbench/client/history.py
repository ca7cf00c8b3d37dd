"""What a link reads of a session at once, and the older parts of it, which are read when the person goes there."""

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
    """The part of a log before what the screen holds; read in threads, each method raises WorkbenchError."""

    def start(self, end: int) -> int:
        """The first event of the last part that ends before event `end`; 1 where that is all there is."""

    def part(self, end: int) -> Sequence[Event]:
        """The last part that ends before event `end`."""


@dataclass(frozen=True)
class EventHistory:
    """The events to begin with; with a `digest` they are the end of the log, and that tells of what came before.

    From the `past` older parts are read, also such as were on screen and are no longer held.
    """

    events: Iterable[Event]
    past: Past | None = None
    digest: Digest | None = None

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)


class FilePast:
    """The older parts of a session file; other processes may write on at its end."""

    def __init__(self, path: Path, least: int = WINDOW) -> None:
        self._path = path
        self._least = least

    def start(self, end: int) -> int:
        """The first event of the last part that ends before event `end`."""
        with Store.open(self._path, readonly=True) as store:
            return part_start(store, end, self._least)

    def part(self, end: int) -> Sequence[Event]:
        """The last part that ends before event `end`."""
        with Store.open(self._path, readonly=True) as store:
            return list(part(store, part_start(store, end, self._least), end))


def read_history(store: Store, least: int = WINDOW) -> EventHistory:
    """What the open file holds now; closes it when the events have been gone through.

    A part of the log has at least so many events.
    """
    end, past = store.last_seq + 1, FilePast(store.path, least)
    try:
        start = part_start(store, end, least)
        if start > 1:
            return EventHistory(_read(store, start, end), past, digest(store, start))
    except StoreError:
        pass  # it is damaged: what can be read of it is read row by row
    return EventHistory(_read(store, 1, end), past)


def _read(store: Store, start: int, end: int) -> Iterator[Event]:
    with store:
        yield from part(store, start, end)
