"""Reads Enter on the terminal in which the server runs; a service has no terminal, and a background
job may not read.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress

_WATCH = 0.5
"""Seconds between checks; no signal reports that `fg` was used on a job that had not been stopped."""


def is_in_foreground() -> bool:
    """Return whether standard input is a terminal that this process may read; reading while in the background would
    stop it.
    """
    with suppress(OSError):
        return os.tcgetpgrp(0) == os.getpgrp()
    return False


def on_enter(action: Callable[[], None]) -> None:
    """Call `action` for each line entered on the terminal, also once the shell moves the process to the foreground."""
    loop = asyncio.get_running_loop()

    def read() -> None:
        if not is_in_foreground():
            loop.remove_reader(0)
            return
        data = b""
        with suppress(OSError):
            data = os.read(0, 4096)
        if data:
            action()
        else:
            loop.remove_reader(0)  # no input is left for now

    def watch() -> None:
        if is_in_foreground():
            loop.add_reader(0, read)
        loop.call_later(_WATCH, watch)

    watch()
