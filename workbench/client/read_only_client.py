"""A client that sends nothing, for a session that is only viewed, such as an earlier state in the time view."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workbench.client.client import Incoming
    from workbench.protocol.commands import Command
    from workbench.protocol.events import Event
    from workbench.session.storage.paging import Branch


class ReadOnlyClient:
    """A client that receives nothing, and that calls `refuse` for every command."""

    def __init__(self, refuse: Callable[[], object]) -> None:
        self._refuse = refuse

    def history(self) -> Iterable[Event | Branch]:
        """Return no events: the time view reads the states that it shows itself."""
        return ()

    async def receive(self) -> Sequence[Incoming]:
        """Wait forever."""
        await asyncio.Event().wait()
        return ()

    def send(self, command: Command) -> None:
        """Refuse the command."""
        self._refuse()

    def close(self, *, stop: bool = False) -> None:
        """Do nothing: there is no connection."""
