"""Passes a session's messages from the worker thread to the front ends: events at once, deltas joined.

However fast a model or a tool writes, the deltas of one stream become at most twelve messages per second.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import TypeAlias

from msgspec.structs import replace

from workbench.protocol.events import Event
from workbench.protocol.live import LiveEvent, Notice, ReasoningDelta, TextDelta, ToolOutput

INTERVAL = 1 / 12
LIVE_LIMIT = 64_000  # characters of one stream kept between two messages; the log has the whole output
Outgoing: TypeAlias = "Event | LiveEvent"


class Broadcast:
    """Accepts messages from any thread and passes them, in order, to `deliver` in the event loop's thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop, deliver: Callable[[Sequence[Outgoing]], None]) -> None:
        self._loop = loop
        self._deliver = deliver
        self._lock = threading.Lock()
        self._waiting: list[Outgoing] = []
        self._joined = _Joined()
        self._is_scheduled = False
        self._last_flush = 0.0

    def event(self, event: Event | Notice) -> None:
        """Send an event that is on disk, or a notice."""
        with self._lock:
            self._waiting.extend(self._joined.drain())
            self._waiting.append(event)
        self._call(self.flush)

    def live(self, event: LiveEvent) -> None:
        """Send a live message: a piece of a stream or the engine's state, which may be joined with
        others, or a notice.
        """
        if isinstance(event, Notice):
            self.event(event)
            return
        with self._lock:
            if not self._joined.fits(event):
                self._waiting.extend(self._joined.drain())
            self._joined.add(event)
            if self._is_scheduled:
                return
            self._is_scheduled = True
        self._call(self._flush_in_time)

    def flush(self) -> None:
        """Deliver all waiting messages now; must be called in the event loop's thread."""
        with self._lock:
            ready = [*self._waiting, *self._joined.drain()]
            self._waiting = []
            self._is_scheduled = False
        self._last_flush = self._loop.time()
        if ready:
            self._deliver(ready)

    def _flush_in_time(self) -> None:
        self._loop.call_at(max(self._loop.time(), self._last_flush + INTERVAL), self.flush)

    def _call(self, callback: Callable[[], None]) -> None:
        try:
            self._loop.call_soon_threadsafe(callback)
        except RuntimeError:
            # The loop is closed: the engine is ending and nobody listens; the log has every event.
            return


class _Joined:
    """The stream that is being joined: consecutive deltas of the same kind and, for tool output, of the same action."""

    def __init__(self) -> None:
        self._first: LiveEvent | None = None
        self._parts: list[str] = []
        self._length = 0

    def fits(self, event: LiveEvent) -> bool:
        """Return whether `event` continues the stream."""
        first = self._first
        if isinstance(first, ToolOutput) and isinstance(event, ToolOutput):
            return first.action_id == event.action_id
        return first is not None and type(first) is type(event)

    def add(self, event: LiveEvent) -> None:
        """Append a piece of text, of which the end is kept if it is long; any other event replaces the previous one."""
        if not isinstance(event, TextDelta | ReasoningDelta | ToolOutput):
            self._first = event
            return
        self._first = event if self._first is None else self._first
        self._parts.append(event.text)
        self._length += len(event.text)
        if self._length > 2 * LIVE_LIMIT:
            self._parts = ["".join(self._parts)[-LIVE_LIMIT:]]
            self._length = LIVE_LIMIT

    def drain(self) -> list[Outgoing]:
        """Return the joined stream as at most one message, and reset."""
        first, text = self._first, "".join(self._parts)
        self._first, self._parts, self._length = None, [], 0
        if first is None:
            return []
        if isinstance(first, TextDelta | ReasoningDelta | ToolOutput):
            return [replace(first, text=text)]
        return [first]
