"""Controls when Python's garbage collector runs; used by the main screen and the app.

A full collection visits every object, and one runs whenever their number has grown by a quarter. That delays a frame in
a long session, so the objects of a loaded history are frozen until another session is opened.
"""

from __future__ import annotations

import gc
from contextlib import suppress
from typing import Final

from workbench.tui import keystrokes

_THRESHOLDS: Final = (50_000, 10, 20)
"""Arguments of `gc.set_threshold`: new objects until a young collection, and collections until an older one."""
_WORTHWHILE: Final = 5_000
"""Number of new objects that makes a collection worthwhile while the user is not typing."""
_YOUNG_PER_FULL: Final = 24
"""Young collections for each full one, which visits all objects that are not frozen (some ten thousand)."""
_AT_START: Final = 1_000_000
_idle_collections = [0]


def begin() -> None:
    """Make collections rare until the first screen is shown, because the objects that imports create stay."""
    gc.set_threshold(_AT_START)


def freeze() -> None:
    """Exclude all current objects from collection, and collect new ones rarely, because frames create and drop many."""
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)


def collect_while_idle() -> None:
    """Collect new objects if there are many and the user is not typing, so that no key has to wait for a collection."""
    if gc.get_count()[0] > _WORTHWHILE and not keystrokes.is_typing():
        _idle_collections[0] = (_idle_collections[0] + 1) % _YOUNG_PER_FULL
        gc.collect(1 if _idle_collections[0] else 2)
        _return_memory()


def _return_memory() -> None:
    """Return what the C library keeps of freed memory to the system, about 1 MB; other libraries than glibc do not."""
    import ctypes  # not before the first frame

    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def end() -> None:
    """Unfreeze all objects, because the process may keep running after the app has ended."""
    gc.unfreeze()


def collect_all() -> None:
    """Free the objects of the previous session; called when another one is opened."""
    gc.unfreeze()
    gc.collect()
