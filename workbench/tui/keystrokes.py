"""When the last key was pressed: whatever can wait lets the frames of keys go first."""

from __future__ import annotations

import time
from typing import Final

_FRAME: Final = 0.03
"""Seconds after which the frame of a key has been painted, if it has one."""
_GAP: Final = 0.035
"""Seconds after a key in which work as long as a frame may begin; later, the next key would wait for it."""
_TYPING: Final = 0.4
"""Most seconds between two keys of continuous typing."""
_last_key = [0.0]
_last_frame = [0.0]


def note_key() -> None:
    """Remember that a key was pressed."""
    _last_key[0] = time.monotonic()


def note_frame() -> None:
    """Remember that what the keys so far changed has been painted."""
    _last_frame[0] = time.monotonic()


def is_frame_due() -> bool:
    """Whether the frame of a key is still to be painted."""
    return _last_frame[0] < _last_key[0] and is_typing()


def seconds_ago() -> float:
    """Return the seconds since the last key."""
    return time.monotonic() - _last_key[0]


def is_typing() -> bool:
    """Whether another key may come at any moment."""
    return seconds_ago() < _TYPING


def is_between_keys() -> bool:
    """Whether the frame of the last key is painted and the next key hardly due."""
    return (not is_frame_due() or seconds_ago() >= _FRAME) and seconds_ago() < _GAP
