"""Tracks when the last key was pressed, so that work that can wait runs after the frame of the key."""

from __future__ import annotations

import time
from typing import Final

_FRAME: Final = 0.03
"""Seconds after a key within which its frame is painted, if it causes one."""
_GAP: Final = 0.035
"""Seconds after a key within which a task as long as a frame may begin; later, it would delay the next key."""
_TYPING: Final = 0.4
"""Longest time between two keys of continuous typing, in seconds."""
_last_key = [0.0]
_last_frame = [0.0]


def note_key() -> None:
    """Record that a key was pressed now."""
    _last_key[0] = time.monotonic()


def note_frame() -> None:
    """Record that the effects of all keys so far are painted."""
    _last_frame[0] = time.monotonic()


def is_frame_due() -> bool:
    """Return whether the frame of the last key has not been painted yet; false once the user has stopped typing."""
    return _last_frame[0] < _last_key[0] and is_typing()


def seconds_ago() -> float:
    """Return the seconds since the last key."""
    return time.monotonic() - _last_key[0]


def is_typing() -> bool:
    """Return whether the user is typing, so another key may come at any moment."""
    return seconds_ago() < _TYPING


def is_between_keys() -> bool:
    """Return whether the frame of the last key is painted or overdue, and the next key is not expected yet."""
    return (not is_frame_due() or seconds_ago() >= _FRAME) and seconds_ago() < _GAP
