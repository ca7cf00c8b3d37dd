"""The client of a session that has ended: it reads the session's file, and no engine is started."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.client.client import CommandRefused, EngineNotice, Incoming
from workbench.client.log_reader import read_history
from workbench.protocol.live import ControlState, EngineState
from workbench.session.storage.store import Store

if TYPE_CHECKING:
    from workbench.protocol.commands import Command
    from workbench.protocol.events import Event
    from workbench.session.storage.paging import Branch

_READ_ONLY = "Read-only: this session has ended"


class StoredClient:
    """Shows what a session file has; every command is refused."""

    def __init__(self, path: Path, notice: str = "") -> None:
        """`notice` is a line for the user."""
        self._path = path
        self._messages: asyncio.Queue[Incoming] = asyncio.Queue()
        self._messages.put_nowait(EngineState(state="idle"))
        self._messages.put_nowait(ControlState(has_control=False, is_viewer=True))
        if notice:
            self._messages.put_nowait(EngineNotice(notice))

    def history(self) -> Iterable[Event | Branch]:
        """Return the stored events (of a long log, only the last part). Raises StoreError."""
        return read_history(Store.open(self._path, readonly=True))

    async def receive(self) -> Sequence[Incoming]:
        """Wait for the next messages: the state of the session, then refusals."""
        return [await self._messages.get()]

    def send(self, command: Command) -> None:
        """Refuse the command."""
        self._messages.put_nowait(CommandRefused(_READ_ONLY))

    def close(self, *, stop: bool = False) -> None:
        """Do nothing: there is no connection."""
