"""Waiting for what an app is about to show or do; every test of the screens waits with this."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

PATIENCE = 30.0
"""Seconds; a machine that has other work to do takes some."""


async def until(pilot: Any, is_so: Callable[[], Any], what: str = "") -> Any:
    """Let the app work until something is so, and give that back; fails when it does not come about in time."""
    deadline = time.monotonic() + PATIENCE
    while not (answer := is_so()):
        assert time.monotonic() < deadline, f"it never came about: {what or is_so}"
        await pilot.pause()
        await asyncio.sleep(0.01)
    await pilot.pause()
    return answer
