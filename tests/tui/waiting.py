"""Waiting for a state of an app or its screen; every test of the screens uses this."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

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
