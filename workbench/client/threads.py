"""Background work that must never delay the end of a program: daemon threads whose result can be awaited."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")
logger = logging.getLogger(__name__)


async def in_daemon(work: Callable[[], T]) -> T:
    """Run `work` in a daemon thread and return its result; an exception in it is raised here."""
    loop = asyncio.get_running_loop()
    result: asyncio.Future[T] = loop.create_future()

    def run() -> None:
        try:
            value = work()
        except BaseException as error:
            _hand_over(loop, _fail, result, error)
            if not isinstance(error, Exception):
                raise
        else:
            _hand_over(loop, _finish, result, value)

    threading.Thread(target=run, daemon=True, name="ohw-background").start()
    return await result


def start_watched(work: Callable[[], None], died: Callable[[str], None], name: str) -> threading.Thread:
    """Start `work` in a daemon thread; an exception that ends the thread is passed to `died` as one line.

    Python would print it on stderr, which is hidden behind a full-screen app.
    """

    def run() -> None:
        try:
            work()
        except Exception as error:
            logger.exception("the thread %s ended", name)
            died(f"{type(error).__name__}: {error}")

    thread = threading.Thread(target=run, daemon=True, name=name)
    thread.start()
    return thread


def _hand_over(loop: asyncio.AbstractEventLoop, how: Callable[..., None], *values: object) -> None:
    with suppress(RuntimeError):  # the screen has ended; nobody waits any more
        loop.call_soon_threadsafe(how, *values)


def _finish(result: asyncio.Future[T], value: T) -> None:
    if not result.done():
        result.set_result(value)


def _fail(result: asyncio.Future[T], error: BaseException) -> None:
    if not result.done():
        result.set_exception(error)
