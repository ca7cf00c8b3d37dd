"""What a link reads of a session at once, and the older parts of it, which are read when the person goes there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # the screen is painted before pydantic is loaded
    from workbench.protocol.events import Event
    from workbench.session.storage.digest import Digest


class Past(Protocol):
    """The part of a log before what the screen holds; read in threads, each method raises WorkbenchError."""

    def start(self, end: int) -> int:
        """The first event of the last part that ends before event `end`; 1 where that is all there is."""

    def part(self, end: int) -> Sequence[Event]:
        """The last part that ends before event `end`."""


@dataclass(frozen=True)
class History:
    """The events to begin with; with a `digest` they are the end of the log, and that tells of what came before.

    From the `past` older parts are read, also such as were on screen and are no longer held.
    """

    events: Iterable[Event]
    past: Past | None = None
    digest: Digest | None = None

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)
