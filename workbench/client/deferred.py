"""A link that stands at once, while the real one is still being made behind the first frame.

Commands given meanwhile are kept in order and handed over, so that nothing typed early is lost.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.client.client import Client, Disconnected, Incoming
from workbench.client.history import EventHistory
from workbench.errors import WorkbenchError

if TYPE_CHECKING:
    from workbench.protocol.commands import Command
    from workbench.protocol.events import Event


class DeferredClient:
    """Makes the real link in the thread that asks for the history."""

    def __init__(self, make: Callable[[], Client]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._link: Client | None = None
        self._queued: list[Command] = []
        self._lost: Disconnected | None = None
        self._closed = False
        self._stop = False

    def history(self) -> Iterable[Event]:
        """Make the link and read what the log holds; blocks, so it is called from a thread, and gone through in one."""
        try:
            link = self._make()
            self._stand_in(link)
            history = link.history()
        except WorkbenchError as error:
            self._lost = Disconnected(str(error), for_good=True)
            return ()

        def read() -> Iterator[Event]:
            try:
                yield from history
            except WorkbenchError as error:
                self._lost = Disconnected(str(error), for_good=True)

        return replace(history, events=read()) if isinstance(history, EventHistory) else read()

    def _stand_in(self, link: Client) -> None:
        with self._lock:
            self._link = link
            for command in self._queued:
                link.send(command)
            self._queued.clear()
            if self._closed:
                link.close(stop=self._stop)

    async def receive(self) -> Sequence[Incoming]:
        """The next messages of the real link; a link that could not be made is lost, once."""
        lost, self._lost = self._lost, None
        if lost is not None:
            return [lost]
        if self._link is None:
            await asyncio.Event().wait()  # lost before: there is nothing more to come
        assert self._link is not None
        return await self._link.receive()

    def close(self, *, stop: bool = False) -> None:
        """Leave the session, also one whose link is still being made."""
        with self._lock:
            already, self._closed, self._stop = self._closed, True, stop
            if self._link is not None and not already:
                self._link.close(stop=stop)

    def send(self, command: Command) -> None:
        """Give a command, or queue it until the link stands."""
        with self._lock:
            if self._link is None:
                self._queued.append(command)
            else:
                self._link.send(command)
