"""Threads for calls that may hang, so that an interrupt never waits for them.

A worker uses the same thread for all calls, because a process that a tool starts may be killed when its thread ends.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeAlias, TypeVar

from workbench.llm.model import Cancel

T = TypeVar("T")
_Jobs: TypeAlias = "SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None]"


class CallAbandoned(Exception):
    """An interrupted call did not return in time; its outcome is unknown."""


class WorkerThread:
    """Runs one call at a time in its own thread."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: _Jobs | None = None

    def start(self, work: Callable[[], T]) -> Future[T]:
        """Start the call and return a future of its result."""
        if self._jobs is None:
            self._jobs = SimpleQueue()
            threading.Thread(target=_work, args=(self._jobs,), name=self._name, daemon=True).start()
        future: Future[T] = Future()
        self._jobs.put((future, work))
        return future

    def close(self) -> None:
        """Let the thread end after its current call."""
        if self._jobs is not None:
            self._jobs.put(None)
            self._jobs = None


def _do_nothing() -> None:
    """Do nothing; the default `stop`, for a call that ends without being asked to."""


@dataclass(frozen=True, eq=False)
class Job(Generic[T]):
    """A call in its own thread, which is abandoned if it is still running `grace` seconds after an interrupt.

    `stop` asks the call to end, and is called in the thread that waits for it.
    """

    worker: WorkerThread
    work: Callable[[], T]
    grace: float
    stop: Callable[[], None] = _do_nothing


def run(job: Job[T], cancel: Cancel) -> T:
    """Return the result of one job, or raise its exception.

    Raises CallAbandoned if it does not end within its grace after `cancel` was set.
    """
    (ended,) = (future for _, future in as_they_end((job,), cancel))
    if ended is None:
        raise CallAbandoned
    return ended.result()


def as_they_end(jobs: Sequence[Job[T]], cancel: Cancel) -> Iterator[tuple[Job[T], Future[T] | None]]:
    """Run the jobs at the same time and yield each as it ends; the calling thread waits.

    After `cancel` is set, each job is asked to stop; a job that does not end within its grace is abandoned with its
    thread and yielded without a future.
    """
    ended: SimpleQueue[int | None] = SimpleQueue()
    cancel.on_set(lambda: ended.put(None))
    running = {number: (job, job.worker.start(job.work)) for number, job in enumerate(jobs)}
    for number, (_, future) in running.items():
        future.add_done_callback(partial(_notify_end, ended, number))
    try:
        while running and (first := ended.get()) is not None:
            yield running.pop(first)
        for job, _ in running.values():
            job.stop()
        for number in _in_time(ended, running):
            yield running.pop(number)
    finally:
        abandoned = [_abandoned(job, future) for job, future in running.values()]
    yield from abandoned


def _notify_end(ended: SimpleQueue[int | None], number: int, _: Future[T]) -> None:
    ended.put(number)


def _in_time(ended: SimpleQueue[int | None], running: Mapping[int, tuple[Job[T], Future[T]]]) -> Iterator[int]:
    """Yield the numbers of jobs that end while one of those in `running`, which the caller updates, has time left."""
    began = time.monotonic()
    while running:
        until = began + max(job.grace for job, _ in running.values())
        try:
            number = ended.get(timeout=max(0.0, until - time.monotonic()))
        except Empty:
            return
        if number is not None:
            yield number


def _abandoned(job: Job[T], future: Future[T]) -> tuple[Job[T], Future[T] | None]:
    if future.done():  # it ended at the last moment
        return job, future
    job.stop()  # the first call of `stop` may have come just before the work began
    job.worker.close()
    return job, None


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
