"""Where a long log can be cut, so that a screen reads its end first and older parts when they are asked for.

Nothing behind a cut tells more of an action, or of a message that waits, from before it: each part is shown by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from workbench.protocol.events import Event
from workbench.session.storage.store import Store

WINDOW: Final = 3_000
"""Events of one part, at least."""
_CALM: Final = 3
"""Answers in a row with no message of the person's: what was queued has been read by then."""
_ROWS: Final = "SELECT seq, kind, json_extract(json, '$.action_id') FROM events WHERE seq < ? ORDER BY seq DESC"


def part_start(store: Store, end: int, least: int = WINDOW) -> int:
    """The first event of the part that ends before event `end`, and has at least so many of them.

    A short rest is part of it: then it begins with event 1. Raises StoreError.
    """
    cut = _cut(store, end, least) if end > least + least // 3 else 1
    return cut if cut > least // 3 else 1


def _cut(store: Store, end: int, least: int) -> int:
    untold: set[str] = set()
    calm: list[tuple[int, bool]] = []
    later = end
    for seq, kind, action_id in store.query(_ROWS, end):
        if kind == "run_ended" and not untold and later <= end - least:
            return later
        if kind in ("user_message", "message_withdrawn"):
            calm.clear()
        elif kind == "model_responded":
            calm.append((seq, not untold and seq <= end - least))
            if len(calm) >= _CALM and calm[-_CALM][1]:
                return calm[-_CALM][0]
        _follow(untold, kind, action_id)
        later = seq
    return 1


def _follow(untold: set[str], kind: str, action_id: str | None) -> None:
    """`untold` are the actions of which something was met, and not yet, going back, how they began."""
    if kind in ("action_proposed", "person_command"):
        untold.discard(action_id or "")
    elif action_id:
        untold.add(action_id)


def part(store: Store, start: int, end: int) -> Iterator[Event]:
    """The events from `start` on, before `end`."""
    for event in store.events(start - 1):
        if event.seq >= end:
            return
        yield event
