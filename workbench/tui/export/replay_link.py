"""A link that plays a recorded session to the screen; no engine stands behind it, and nothing comes of commands."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from workbench.tui.fold.state import SessionState
from workbench.tui.fold.story import apply
from workbench.tui.links.link import Incoming

if TYPE_CHECKING:
    from workbench.protocol.commands import Command
    from workbench.protocol.events import Event


class ReplayLink:
    """`play` brings events; what the engine did at that moment is seen from them."""

    def __init__(self) -> None:
        self._coming: asyncio.Queue[Incoming] = asyncio.Queue()
        self._told = SessionState()

    def history(self) -> Sequence[Event]:
        """Nothing: all of it is played."""
        return ()

    async def receive(self) -> Sequence[Incoming]:
        """What was played since."""
        first = await self._coming.get()
        return [first, *(self._coming.get_nowait() for _ in range(self._coming.qsize()))]

    def play(self, events: Sequence[Event]) -> None:
        """Bring these."""
        from workbench.protocol.live import EngineState

        for event in events:
            apply(self._told, event)
            self._coming.put_nowait(event)
        self._coming.put_nowait(EngineState(state=_work(self._told)))

    def close(self, *, stop: bool = False) -> None:
        """Nothing is held."""

    def send(self, command: Command) -> None:
        """Drop the command: what was recorded has been decided, and there is no agent to receive it."""


def _work(state: SessionState) -> Literal["idle", "thinking", "deciding", "acting"]:
    if state.waiting:
        return "deciding"
    if state.running:
        return "acting"
    return "thinking" if state.is_running else "idle"
