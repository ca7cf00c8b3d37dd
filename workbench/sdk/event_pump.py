"""Carries events from the threads of a session to the event loop of the caller."""

from __future__ import annotations

import asyncio
from asyncio import AbstractEventLoop, Future
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

T = TypeVar("T")


class EventPump:
    """Passes items from other threads, in order, to `deliver`, a function that runs in the event loop."""

    def __init__(self, loop: AbstractEventLoop, deliver: Callable[[Any], Awaitable[None]]) -> None:
        self._loop = loop
        self._deliver = deliver
        self._items: deque[Any] = deque()
        self._changed = asyncio.Event()

    def put(self, item: object) -> None:
        """Add an item; may be called from any thread."""
        self._loop.call_soon_threadsafe(self._add, item)

    def _add(self, item: object) -> None:
        self._items.append(item)
        self._changed.set()

    async def result_of(self, future: Future[T]) -> T:
        """Wait for a future and deliver items meanwhile; return its result, or raise its exception."""
        future.add_done_callback(lambda _: self._changed.set())
        while not future.done():
            await self._changed.wait()
            self._changed.clear()
            await self.drain()
        await self.drain()
        return future.result()

    async def drain(self) -> None:
        """Deliver all items that have been added."""
        await asyncio.sleep(0)  # items that other threads put earlier have arrived by then
        while self._items:
            await self._deliver(self._items.popleft())
