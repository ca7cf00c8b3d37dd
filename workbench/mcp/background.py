"""The event loop of all connections: a thread that lives while somebody uses it; used by `client`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


class Background:
    """A loop in a daemon thread; `use` and `leave` count its users, the last one ends it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def use(self) -> None:
        """One user more."""
        with self._lock:
            self._users += 1
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._run, args=(self._loop,), name="mcp", daemon=True)
                self._thread.start()

    def leave(self) -> None:
        """One user less."""
        with self._lock:
            self._users -= 1
            if self._users or self._loop is None or self._thread is None:
                return
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        loop.call_soon_threadsafe(loop.stop)
        thread.join(5)

    @staticmethod
    def _run(loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.run_until_complete(loop.shutdown_default_executor())
        finally:
            loop.close()

    def submit(self, make: Callable[[], Coroutine[Any, Any, T]]) -> Future[T]:
        """Begin it in the loop; raises RuntimeError where nobody uses that."""
        with self._lock:
            if self._loop is None:
                raise RuntimeError("nobody uses the loop of the MCP servers")
            return asyncio.run_coroutine_threadsafe(make(), self._loop)


BACKGROUND = Background()
"""The one of this process."""
