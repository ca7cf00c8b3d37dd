"""A thread of its own for calls that may hang, so that an interrupt never waits for them; used by the session.

The thread stays the same from call to call: a process that a tool starts may be bound to the life of its thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeAlias, TypeVar

from workbench.llm.model import Cancel

T = TypeVar("T")
_Jobs: TypeAlias = "SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None]"


class LeftBehind(Exception):
    """An interrupted call did not come back in time; what becomes of it is not known."""


class Lane:
    """Runs one call at a time; a call that ignores an interrupt for `grace` seconds is left behind with its thread."""

    def __init__(self, name: str, grace: float) -> None:
        self._name = name
        self._grace = grace
        self._jobs: _Jobs | None = None

    def run(self, job: Callable[[], T], cancel: Cancel, stop: Callable[[], None] = lambda: None) -> T:
        """The result (or exception) of the job; raises LeftBehind when it does not end after `cancel` was raised.

        `stop` asks the job to end; it is called in this thread, so that whoever raises `cancel` never waits for it.
        """
        future: Future[T] = Future()
        wake = threading.Event()
        future.add_done_callback(lambda _: wake.set())
        cancel.on_set(wake.set)
        self._queue().put((future, job))
        wake.wait()
        if not future.done():
            stop()
        try:
            return future.result(timeout=self._grace)
        except TimeoutError:
            if future.done():  # the job's own error, or it came at the last moment
                return future.result()
            stop()  # the first may have come a moment before the job began
            self.close()
            raise LeftBehind from None

    def _queue(self) -> _Jobs:
        if self._jobs is None:
            self._jobs = SimpleQueue()
            threading.Thread(target=_work, args=(self._jobs,), name=self._name, daemon=True).start()
        return self._jobs

    def close(self) -> None:
        """Let the thread end after the call it runs now."""
        if self._jobs is not None:
            self._jobs.put(None)
            self._jobs = None


def _work(jobs: _Jobs) -> None:
    while (entry := jobs.get()) is not None:
        future, job = entry
        try:
            result = job()
        except BaseException as error:  # noqa: BLE001 - handed to the thread that waits
            future.set_exception(error)
        else:
            future.set_result(result)
        del entry, future, job
