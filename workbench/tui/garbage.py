"""What a session on screen is made of need not be looked through for garbage at each turn; the main screen says when.

Python looks through every object there is whenever their number has grown by a quarter: with a long session that is a
frame that comes late. What was read once stays until another session is opened.
"""

from __future__ import annotations

import gc
from typing import Final

from workbench.tui import pressed

_PATIENCE: Final = (50_000, 10, 20)
"""How many more objects there are before the youngest are looked through, and how often before the next older ones."""

_ENOUGH: Final = 5_000
"""So many are looked through while nobody types."""

_OFTEN: Final = 24
"""So many looks at what is young are followed by one at all that is not set aside: some ten thousand objects."""

_AT_START: Final = 200_000
_looks = [0]


def begin() -> None:
    """What imports make stays: until the first screen is there, next to nothing is looked through."""
    gc.set_threshold(_AT_START)


def set_aside() -> None:
    """What is there now is no garbage; what comes is looked through more rarely, as frames make and drop much."""
    gc.freeze()
    gc.set_threshold(*_PATIENCE)


def look_in_a_pause() -> None:
    """Nobody waits for a frame: what has come since is looked through now rather than while a key waits.

    Python itself looks through the oldest generation only when it has grown by a quarter since, and never after looks
    that are asked for: what lived long enough to get there would stay.
    """
    if gc.get_count()[0] > _ENOUGH and not pressed.types_on():
        _looks[0] = (_looks[0] + 1) % _OFTEN
        gc.collect(1 if _looks[0] else 2)


def end() -> None:
    """The app has ended: where the process goes on, nothing is kept from being looked through."""
    gc.unfreeze()


def look_through() -> None:
    """Another session is opened: what the one before left is given back."""
    gc.unfreeze()
    gc.collect()
