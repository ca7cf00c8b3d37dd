"""How long the agent worked in a session: from each message to the end of its run."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from workbench.session.storage.store import Store

_STEPS: Final = "SELECT kind, at FROM events WHERE kind IN ('user_message', 'run_ended') ORDER BY seq"
_LAST: Final = "SELECT at FROM events ORDER BY seq DESC LIMIT 1"


def working_time(store: Store) -> float:
    """Return the seconds in which a run was open, up to the last event. Raises StoreError."""
    total, began = 0.0, ""
    for kind, at in store.query(_STEPS):
        if kind == "user_message":
            began = began or at
        elif began:
            total, began = total + _between(began, at), ""
    if began:
        total += sum(_between(began, at) for (at,) in store.query(_LAST))
    return total


def _between(first: str, last: str) -> float:
    return max(0.0, (datetime.fromisoformat(last) - datetime.fromisoformat(first)).total_seconds())
