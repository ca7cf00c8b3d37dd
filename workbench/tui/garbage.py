"""What a session on screen is made of need not be looked through for garbage at each turn; the main screen says when.

Python looks through every object there is whenever their number has grown by a quarter: with a long session that is a
frame that comes late. What was read once stays until another session is opened.
"""

from __future__ import annotations

import gc


def set_aside() -> None:
    """What is there now is no garbage."""
    gc.freeze()


def look_through() -> None:
    """Another session is opened: what the one before left is given back."""
    gc.unfreeze()
    gc.collect()
