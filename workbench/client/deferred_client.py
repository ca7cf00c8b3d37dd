"""A client that is usable at once, while the real one is created after the first frame.

Commands sent before the real client exists are queued and delivered in order, so that nothing typed early is lost.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from workbench.client.client import Client, Disconnected, EventHistory, Incoming
from workbench.errors import WorkbenchError

if TYPE_CHECKING:
    from workbench.protocol.commands import Command
    from workbench.protocol.events import Event
    from workbench.session.storage.paging import Branch


class DeferredClient:
    """Creates the real client on the first call of `history`, in the calling thread."""

    def __init__(self, make: Callable[[], Client]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._client: Client | None = None
        self._queued: list[Command] = []
        self._lost: Disconnected | None = None
        self._closed = False
        self._stop = False

    def history(self) -> Iterable[Event | Branch]:
        """Create the client, unless it exists, and return the events of the log.

        This blocks: call it in a thread, and iterate over the result in one. An error is reported by `receive`.
        """
        try:
            client = self._client
            if client is None:
                client = self._make()
                self._stand_in(client)
            history = client.history()
        except WorkbenchError as error:
            self._lost = Disconnected(str(error), for_good=True)
            return ()

        def read() -> Iterator[Event | Branch]:
            try:
                yield from history
            except WorkbenchError as error:
                self._lost = Disconnected(str(error), for_good=True)

        return replace(history, events=read()) if isinstance(history, EventHistory) else read()

    def _stand_in(self, client: Client) -> None:
        with self._lock:
            self._client = client
            for command in self._queued:
                client.send(command)
            self._queued.clear()
            if self._closed:
                client.close(stop=self._stop)

    async def receive(self) -> Sequence[Incoming]:
        """Wait for the next messages of the real client; a failure to create it is reported once."""
        lost, self._lost = self._lost, None
        if lost is not None:
            return [lost]
        if self._client is None:
            # The failure was reported before, and nothing else will come.
            await asyncio.Event().wait()
        assert self._client is not None
        return await self._client.receive()

    def close(self, *, stop: bool = False) -> None:
        """Disconnect from the session, even if the real client is still being created."""
        with self._lock:
            already, self._closed, self._stop = self._closed, True, stop
            if self._client is not None and not already:
                self._client.close(stop=stop)

    def send(self, command: Command) -> None:
        """Send a command, or queue it until the client exists."""
        with self._lock:
            if self._client is None:
                self._queued.append(command)
            else:
                self._client.send(command)
