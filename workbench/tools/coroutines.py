"""Runs coroutines of a tool's own code on an event loop of their own, so that tools can be written with async."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import CancelledError, Future
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Task


class CallCanceled(Exception):
    """The coroutine was canceled before it had a result."""


class CoroutineRunner:
    """Runs the coroutines of one tool in one thread, whose event loop starts with the first of them.

    All of them share the loop, so that a client or a connection can be used again by the next call.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._running: set[Future[Any]] = set()

    def run(self, awaitable: Awaitable[Any]) -> Any:
        """Return the result, or raise the exception, of an awaitable; the calling thread waits for it.

        Raises CallCanceled if it is canceled.
        """
        import asyncio

        async def result() -> Any:
            return await awaitable

        with self._lock:
            future = asyncio.run_coroutine_threadsafe(result(), self._open())
            self._running.add(future)
        try:
            return future.result()
        except CancelledError as error:
            raise CallCanceled("it was interrupted") from error
        finally:
            with self._lock:
                self._running.discard(future)

    def finished(self, result: Any) -> Any:
        """Return the result of a call; if it is an awaitable, wait for its result. Raises like `run`."""
        return self.run(result) if isinstance(result, Awaitable) else result

    def _open(self) -> AbstractEventLoop:
        import asyncio

        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._loop.run_forever, name="tool coroutines", daemon=True)
            self._thread.start()
        return self._loop

    def interrupt(self) -> None:
        """Cancel all running coroutines; called from another thread."""
        with self._lock:
            running = list(self._running)
        for future in running:
            future.cancel()

    def close(self, close: Callable[[], Any] | None = None) -> None:
        """Cancel all coroutines, call `close` if it is given, and end the thread; the next `run` starts another one."""
        self.interrupt()
        try:
            self.finished(close() if close is not None else None)
        finally:
            self._end()

    def _end(self) -> None:
        with self._lock:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is None or thread is None:
            return
        import asyncio

        ended = asyncio.run_coroutine_threadsafe(_end_all(asyncio.all_tasks(loop)), loop)
        ended.result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _end_all(tasks: Iterable[Task[Any]]) -> None:
    import asyncio

    loop = asyncio.get_running_loop()
    pending = [task for task in tasks if task is not asyncio.current_task()]
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)
    await loop.shutdown_asyncgens()
