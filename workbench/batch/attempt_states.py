"""The states of attempts as lists show them: a sign for each, the groups they are filtered by, and their order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from workbench.batch.attempt import BROKEN

RUNNING: Final = "running"
WAITING: Final = "waiting"
"""A running attempt that waits for an answer."""
PENDING: Final = "pending"
"""An attempt without an outcome that does not run on this machine."""
GOOD: Final = frozenset({"solved", "done"})
STATE_GROUPS: Final[Mapping[str, frozenset[str]]] = {
    "all": frozenset(),
    "failed": frozenset(BROKEN),
    "unsolved": frozenset({"unsolved"}),
    "stopped": frozenset({"question", "limit", "interrupted"}),
    "running": frozenset({RUNNING, WAITING}),
    "needs you": frozenset({WAITING}),
    "pending": frozenset({PENDING}),
    "solved": GOOD,
}
"""The states by which tasks are filtered, by the name of the filter; the first one is no filter."""
URGENCY: Final = (
    *(WAITING, RUNNING, "error", "stuck", "worker", "setup", "workspace"),
    *("limit", "question", "interrupted", "unsolved", PENDING, "done", "solved"),
)
"""All states, those that need the user first."""
_MARKS: Final = {
    **{"solved": "✓", "done": "✓", "unsolved": "✗", "question": "?", "limit": "!", "interrupted": "!"},
    **{RUNNING: "●", WAITING: "?", PENDING: "○"},
    **{"setup": "⊘", "workspace": "⊘"},
}


def state_sign(state: str) -> str:
    """Return the sign of a state, which is one cell wide. Attempts that did not start share one, and so do all
    failures other than of the check.
    """
    return _MARKS.get(state, "■")


def urgency(state: str) -> int:
    """Return the position of a state in lists sorted by state."""
    return URGENCY.index(state) if state in URGENCY else len(URGENCY)
