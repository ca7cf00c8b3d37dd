"""Runs asynchronous work with a time limit and a way to interrupt it; for executors that wait for the network."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Interrupted(Exception):
    """The work was interrupted."""


class OutOfTime(Exception):
    """The work did not finish within its time limit."""


class Calls:
    """Runs the calls of one tool, each in the thread of its caller; several may run at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[_Call] = set()

    def run(self, work: Callable[[], Coroutine[Any, Any, T]], seconds: float) -> T:
        """Run the work in this thread and return its result. Raises Interrupted, OutOfTime, or any exception of the
        work.
        """
        call = _Call()
        with self._lock:
            self._running.add(call)
        try:
            with asyncio.Runner() as runner:
                return runner.run(call.limited(work, seconds))
        finally:
            with self._lock:
                self._running.discard(call)

    def interrupt(self) -> None:
        """Cancel all running calls without waiting for them; each raises Interrupted."""
        with self._lock:
            running = tuple(self._running)
        for call in running:
            call.end()


class _Call:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_over = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[Any] | None = None

    async def limited(self, work: Callable[[], Coroutine[Any, Any, T]], seconds: float) -> T:
        with self._lock:
            self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
            if self._is_over:
                raise Interrupted
        try:
            async with asyncio.timeout(seconds):
                return await work()
        except TimeoutError as error:
            raise OutOfTime from error
        except asyncio.CancelledError as error:
            raise Interrupted from error

    def end(self) -> None:
        with self._lock:
            self._is_over = True
            loop, task = self._loop, self._task
        if loop is not None and task is not None:
            with contextlib.suppress(RuntimeError):  # the call has just ended and closed its loop
                loop.call_soon_threadsafe(task.cancel)
