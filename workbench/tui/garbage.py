"""When Python's garbage collector runs; the main screen and the app decide that here.

The collector walks over every object whenever their number has grown by a quarter, and in a long session that is a
frame that comes late. What a session has read so far is frozen, until another session is opened.
"""

from __future__ import annotations

import gc
from typing import Final

from workbench.tui import keystrokes

_THRESHOLDS: Final = (50_000, 10, 20)
"""For `gc.set_threshold`: new objects until a young collection, and how many of these until an older one."""
_WORTHWHILE: Final = 5_000
"""New objects from which a collection pays while nobody types."""
_YOUNG_PER_FULL: Final = 24
"""Young collections until one of all objects that are not frozen, some ten thousand."""
_AT_START: Final = 200_000
_idle_collections = [0]


def begin() -> None:
    """Hardly ever collect until the first screen is there: what imports make stays."""
    gc.set_threshold(_AT_START)


def freeze() -> None:
    """Exclude every object of now from collection, and collect later ones more rarely: frames make and drop many."""
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)


def collect_while_idle() -> None:
    """Collect new objects now, when no frame is waited for, rather than while a key waits."""
    if gc.get_count()[0] > _WORTHWHILE and not keystrokes.is_typing():
        _idle_collections[0] = (_idle_collections[0] + 1) % _YOUNG_PER_FULL
        gc.collect(1 if _idle_collections[0] else 2)


def end() -> None:
    """Unfreeze all objects: the process may go on after the app has ended."""
    gc.unfreeze()


def collect_all() -> None:
    """Free what the session before left, when another one is opened."""
    gc.unfreeze()
    gc.collect()
