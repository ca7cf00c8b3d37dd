"""Controls when Python's garbage collector runs; used by the main screen and the app.

The collector visits every object whenever their number has grown by a quarter, which delays a frame in a long session.
So the objects of the history that a session has read are frozen until another session is opened.
"""

from __future__ import annotations

import gc
from typing import Final

from workbench.tui import keystrokes

_THRESHOLDS: Final = (50_000, 10, 20)
"""Arguments of `gc.set_threshold`: new objects until a young collection, and collections until an older one."""
_WORTHWHILE: Final = 5_000
"""Number of new objects from which a collection is worthwhile while the user is not typing."""
_YOUNG_PER_FULL: Final = 24
"""Young collections until a full one, of all objects that are not frozen (some ten thousand)."""
_AT_START: Final = 200_000
_idle_collections = [0]


def begin() -> None:
    """Hardly ever collect until the first screen is shown, because the objects that imports make stay."""
    gc.set_threshold(_AT_START)


def freeze() -> None:
    """Exclude all current objects from collection, and collect new ones rarely, as frames make and drop many."""
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)


def collect_while_idle() -> None:
    """Collect new objects if there are many and the user is not typing, so that no key has to wait for it."""
    if gc.get_count()[0] > _WORTHWHILE and not keystrokes.is_typing():
        _idle_collections[0] = (_idle_collections[0] + 1) % _YOUNG_PER_FULL
        gc.collect(1 if _idle_collections[0] else 2)


def end() -> None:
    """Unfreeze all objects, because the process may keep running after the app has ended."""
    gc.unfreeze()


def collect_all() -> None:
    """Free what the previous session left; called when another one is opened."""
    gc.unfreeze()
    gc.collect()
