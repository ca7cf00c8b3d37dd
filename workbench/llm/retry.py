"""Retries model calls that may succeed later: after rate limits, server failures and broken connections."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from workbench.llm.errors import RETRIED, Fault
from workbench.llm.model import Cancel, Delta

T = TypeVar("T")
TRIES = 5
LONGEST = 30.0
"""Seconds after the first failure during which a call is retried before the error is reported."""
LONGEST_WAIT = 120.0
"""Replaces LONGEST if the provider says how long to wait; the error is reported at once if that would be too long."""


class Patience(msgspec.Struct, frozen=True):
    """The time limits of a call in seconds, and how often it is tried."""

    connect: float = 10.0
    idle: float = 120.0
    """Seconds without any data."""
    silence: float = 600.0
    """Seconds without any part of a response; a keep-alive is not one."""
    tries: int = TRIES
    first_wait: float = 1.0

    @property
    def timeout(self) -> Any:
        """The time limits of one request as httpx's `Timeout`."""
        import httpx

        return httpx.Timeout(connect=self.connect, read=self.idle, write=self.idle, pool=self.connect)


class Cancelled(Exception):
    """The user canceled the call before a try or while it waited for one."""


def with_retries(
    call: Callable[[], T],
    on_delta: Callable[[Delta], None],
    cancel: Cancel,
    tries: int = TRIES,
    first_wait: float = 1.0,
) -> T:
    """Repeat `call` until it succeeds, and return its result. Raises the last Fault, or Cancelled.

    `on_delta` receives a countdown of each wait. No try starts later than LONGEST seconds after the first failure, or
    LONGEST_WAIT seconds if the provider says how long to wait.
    """
    failed: float | None = None
    for attempt in range(1, tries + 1):
        try:
            return call()
        except Fault as fault:
            now = time.monotonic()
            failed = now if failed is None else failed
            pause = wait_before(attempt, fault, first_wait)
            limit = LONGEST if fault.retry_after is None else LONGEST_WAIT
            if attempt == tries or fault.kind not in RETRIED or now + pause - failed > limit:
                raise
            what = f"{fault.short}; try {attempt + 1} of {tries}"
            _count_down(pause, what, on_delta, cancel, is_demanded=fault.retry_after is not None)
    raise AssertionError("unreachable: the last try returns or raises")


def wait_before(attempt: int, fault: Fault, first_wait: float) -> float:
    """Return the wait in seconds: the one that the provider asks for, or else exponential backoff with jitter."""
    if fault.retry_after is not None:
        return fault.retry_after
    return min(30.0, first_wait * 2.0 ** (attempt - 1)) * random.uniform(0.7, 1.3)


def _count_down(
    pause: float, what: str, on_delta: Callable[[Delta], None], cancel: Cancel, *, is_demanded: bool
) -> None:
    end = time.monotonic() + pause
    while (remaining := end - time.monotonic()) > 0:
        on_delta(Delta("status", f"{what} in {math.ceil(remaining)}s", wait=remaining if is_demanded else 0.0))
        cancel.wait(min(remaining, remaining - math.ceil(remaining) + 1))
        if cancel.is_set:
            raise Cancelled
    if cancel.is_set:
        raise Cancelled
