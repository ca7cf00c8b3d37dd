"""When a key was pressed last: what can wait for a moment lets the frame of a key go first."""

from __future__ import annotations

import time
from typing import Final

_MOMENT: Final = 0.08
"""Seconds in which the frame of a key is made."""
_last = [0.0]


def note() -> None:
    """A key was pressed."""
    _last[0] = time.monotonic()


def is_just_now() -> bool:
    """Whether a key was pressed whose frame may not be out yet."""
    return time.monotonic() - _last[0] < _MOMENT
