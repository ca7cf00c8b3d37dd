"""Messages from threads to the screen's event loop, in order; used by the engine link."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable
from contextlib import suppress

from workbench.tui.links.link import Incoming


class Inbox:
    """Any thread puts, one coroutine takes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._messages: list[Incoming] = []
        self._waiting: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None

    def put(self, messages: Iterable[Incoming]) -> None:
        """Add messages and wake whoever waits."""
        with self._lock:
            self._messages.extend(messages)
            waiting = self._waiting
        if waiting is not None:
            loop, event = waiting
            with suppress(RuntimeError):  # the screen has ended
                loop.call_soon_threadsafe(event.set)

    async def take(self) -> list[Incoming]:
        """All messages there are; waits for the first."""
        event = asyncio.Event()
        with self._lock:
            self._waiting = (asyncio.get_running_loop(), event)
            if self._messages:
                event.set()
        await event.wait()
        with self._lock:
            taken, self._messages = self._messages, []
            self._waiting = None
        return taken
