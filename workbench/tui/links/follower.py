"""Follows one session: folds what the link brings into the state and says, once a frame, what changed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from workbench.tui.background import in_daemon
from workbench.tui.fold.changed import Changed
from workbench.tui.fold.state import SessionState
from workbench.tui.fold.story import apply
from workbench.tui.later import load_later
from workbench.tui.links.link import Incoming, Link, LinkLost

if TYPE_CHECKING:
    from workbench.session.events import Event

FRAME = 1 / 30
"""Seconds between two repaints: what comes in between is shown together."""
_CHUNK = 500


class Follower:
    """One per session on screen; `shown(None)` means everything may have changed."""

    def __init__(
        self,
        link: Link,
        state: SessionState,
        shown: Callable[[Changed | None], None],
    ) -> None:
        self._link = link
        self._state = state
        self._shown = shown

    async def run(self) -> None:
        """Read the history, then whatever comes, until the link is lost for good."""
        await self._read_history()
        self._shown(None)
        while self._take(await self._link.receive()):
            await asyncio.sleep(FRAME)

    async def _read_history(self) -> None:
        events, chunk = await in_daemon(self._begin)
        while chunk:  # never all of it at once: a long session is many megabytes, and keys are answered meanwhile
            for event in chunk:
                apply(self._state, event)
            chunk = await in_daemon(lambda: list(islice(events, _CHUNK)))

    def _begin(self) -> tuple[Iterator[Event], list[Event]]:
        """In a thread: let the engine be started, then load what showing a session needs, while it starts."""
        events = iter(self._link.history())
        chunk = list(islice(events, _CHUNK))
        load_later()
        return events, chunk

    def _take(self, messages: Sequence[Incoming]) -> bool:
        changed = Changed()
        goes_on = True
        for message in messages:
            changed.merge(apply(self._state, message))
            goes_on = goes_on and not (isinstance(message, LinkLost) and message.for_good)
        self._shown(changed)
        return goes_on
