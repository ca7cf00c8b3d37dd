"""When a key was pressed last: what can wait lets the frames of keys go first."""

from __future__ import annotations

import time
from typing import Final

_FRAME: Final = 0.03
"""Seconds in which the frame of a key is made."""
_GAP: Final = 0.06
"""From here on the next key of somebody who types may come."""
_TYPING: Final = 0.4
"""Seconds between two keys of somebody who types on."""
_last = [0.0]


def note() -> None:
    """A key was pressed."""
    _last[0] = time.monotonic()


def seconds_ago() -> float:
    """How long nobody has pressed a key."""
    return time.monotonic() - _last[0]


def types_on() -> bool:
    """Whether another key may come at any moment."""
    return seconds_ago() < _TYPING


def is_between() -> bool:
    """Whether the frame of the last key is out and the next key is hardly there yet."""
    return _FRAME <= seconds_ago() < _GAP
