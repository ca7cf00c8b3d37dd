"""Follows one session: folds what the link brings into the state and says, once a frame, what changed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
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
        events = await in_daemon(self._history)
        for start in range(0, len(events), _CHUNK):
            for event in events[start : start + _CHUNK]:
                apply(self._state, event)
            await asyncio.sleep(0)  # keys are answered while a long session is read

    def _history(self) -> Sequence[Event]:
        """In a thread: let the engine be started, then load what showing a session needs, while it starts."""
        events = self._link.history()
        load_later()
        return events

    def _take(self, messages: Sequence[Incoming]) -> bool:
        changed = Changed()
        goes_on = True
        for message in messages:
            changed.merge(apply(self._state, message))
            goes_on = goes_on and not (isinstance(message, LinkLost) and message.for_good)
        self._shown(changed)
        return goes_on
