"""Forwards what a thread reads to a screen in batches, the first item at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TypeVar

T = TypeVar("T")
_QUICK, _SLOW = 0.15, 0.8
"""Seconds between two batches from a thread: for the first items, and once there are many."""
_MANY = 1_000


def in_batches(each: Iterator[T], on_batch: Callable[[list[T]], None], stopped: Callable[[], bool]) -> None:
    """Forward the items of an iterator in batches: the first item at once, then a few times a second.

    Ends early, without the items not yet forwarded, once `stopped` returns True.
    """
    batch: list[T] = []
    last = 0.0
    for number, one in enumerate(each):
        if stopped():
            return
        batch.append(one)
        if time.monotonic() - last >= (_QUICK if number < _MANY else _SLOW):
            on_batch(batch)
            batch, last = [], time.monotonic()
    on_batch(batch)
