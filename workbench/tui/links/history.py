"""What a link reads of a session at once, and the older parts of it, which are read when the person goes there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # the screen is painted before pydantic is loaded
    from workbench.session.events import Event
    from workbench.session.storage.digest import Digest


class Past(Protocol):
    """The part of a log before what the screen holds."""

    def part(self, end: int) -> Sequence[Event]:
        """The last part of it that ends before event `end`; called in a thread, raises WorkbenchError."""
        ...


@dataclass(frozen=True)
class History:
    """The events to begin with; where there is a `past` they are the end of the log, and `digest` tells of the rest."""

    events: Iterable[Event]
    past: Past | None = None
    digest: Digest | None = None

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)
