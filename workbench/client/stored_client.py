"""Clients for sessions that are shown for a while: one that has ended, and one that is shown with a notice."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.client.client import Client, CommandRefused, EngineNotice, Incoming
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

    def __init__(self, path: Path) -> None:
        self._path = path
        self._messages: asyncio.Queue[Incoming] = asyncio.Queue()
        self._messages.put_nowait(EngineState(state="idle"))
        self._messages.put_nowait(ControlState(has_control=False, is_viewer=True))

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


class NoticeClient:
    """Another client, which first shows the user a line."""

    def __init__(self, client: Client, notice: str) -> None:
        self._client = client
        self._notices = [notice]

    def history(self) -> Iterable[Event | Branch]:
        """Return the events of the log."""
        return self._client.history()

    async def receive(self) -> Sequence[Incoming]:
        """Return the line, then the messages of the client."""
        return [EngineNotice(self._notices.pop())] if self._notices else await self._client.receive()

    def send(self, command: Command) -> None:
        """Send a command."""
        self._client.send(command)

    def close(self, *, stop: bool = False) -> None:
        """Disconnect from the session."""
        self._client.close(stop=stop)
