"""Waiting for a state of an app or its screen; every test of the screens uses this."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from textual._context import active_app
from textual.message_pump import MessagePump
from textual.pilot import Pilot, WaitForScreenTimeout

PATIENCE = 30.0
"""Seconds; a busy machine may need many of them."""


async def until(pilot: Any, is_so: Callable[[], Any], what: str = "", *, every: float = 0.01) -> Any:
    """Let the app work until the value is true, and return it; fail if that does not happen in time.

    `every` is the time between two looks at the value, in seconds.
    """
    deadline = time.monotonic() + PATIENCE
    while not (answer := is_so()):
        assert time.monotonic() < deadline, f"it never came about: {what or is_so}"
        await pilot.pause()
        await asyncio.sleep(every)
    await pilot.pause()
    return answer


async def until_processed(pilot: Pilot[Any], timeout: float = PATIENCE) -> bool:
    """Wait until the app, its screen and each widget at work have processed all they had received.

    This is what `Pilot` does before and after most of its steps, but its own method sends a message to every widget.
    One that waits for a message has processed all others, and what it does when idle too.
    Returns False if the app has failed or has no screen.
    """
    app = pilot.app
    if not app._screen_stacks.get(app.current_mode):
        return False
    at_work = [each for each in app.screen.walk_children() if not _waits_for_a_message(each)]
    processed = asyncio.Event()
    count = 0

    def one_more() -> None:
        nonlocal count
        count -= 1
        if not count:
            processed.set()

    for pump in (app, app.screen, *at_work):
        count += pump.call_later(one_more)
    if not count:
        return True
    waiting = [asyncio.create_task(event.wait()) for event in (processed, app._exception_event)]
    finished, unfinished = await asyncio.wait(waiting, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
    for task in unfinished:
        task.cancel()
    if not finished:
        raise WaitForScreenTimeout("a widget did not process its messages in time")
    return not count


async def until_idle(_min_sleep: float = 0, max_sleep: float = 1) -> None:
    """Wait until the process has nothing to do and the screen nothing to paint.

    This is what a `Pilot` does in each step, but its own function looks only every 20 ms and lets the screen wait for
    its next frame. Threads count as work while they compute.
    """
    deadline = time.monotonic() + max_sleep
    while True:
        computed = time.process_time()
        await asyncio.sleep(_LOOK)
        is_busy = time.process_time() - computed > _LOOK / 10
        app = active_app.get()
        if app._screen_stacks.get(app.current_mode) and app.screen._update_timer._active.is_set():
            app.screen._on_timer_update()
            is_busy = True
        if not is_busy or time.monotonic() > deadline:
            return


_LOOK = 0.004
"""Seconds between two looks at what the process does."""


def _waits_for_a_message(pump: MessagePump) -> bool:
    ready = pump._message_queue.ready_event
    return not ready.is_set() and bool(ready._waiters)  # type: ignore[attr-defined]
