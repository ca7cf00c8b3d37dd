"""When a key was pressed last: what can wait lets the frames of keys go first."""

from __future__ import annotations

import time
from typing import Final

_FRAME: Final = 0.03
"""Seconds after which the frame of a key is out, or there is none."""
_GAP: Final = 0.035
"""What takes as long as a frame begins no later, or the next key of somebody who types would wait for it."""
_TYPING: Final = 0.4
"""Seconds between two keys of somebody who types on."""
_last = [0.0]
_paid = [0.0]


def note() -> None:
    """A key was pressed."""
    _last[0] = time.monotonic()


def paid() -> None:
    """What the keys so far changed is on the screen."""
    _paid[0] = time.monotonic()


def is_owed() -> bool:
    """Whether the frame of a key is still to be made."""
    return _paid[0] < _last[0] and types_on()


def seconds_ago() -> float:
    """How long nobody has pressed a key."""
    return time.monotonic() - _last[0]


def types_on() -> bool:
    """Whether another key may come at any moment."""
    return seconds_ago() < _TYPING


def is_between() -> bool:
    """Whether the frame of the last key is out and the next key is hardly there yet."""
    return (not is_owed() or seconds_ago() >= _FRAME) and seconds_ago() < _GAP
