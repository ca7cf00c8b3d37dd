"""Since when the model thinks, by the log: a screen that comes later, or sees it late, tells the same time."""

from __future__ import annotations

from typing import Any, Final

from workbench.tui.fold.state import SessionState

_ASKED_AFTER: Final = frozenset(("action_observed", "action_abandoned", "agent_nudged", "history_condensed"))


def note_time(state: SessionState, event: Any) -> None:
    """Take the time of a stored event where the model is asked after it, as it is not after a message that waits."""
    if event.kind in _ASKED_AFTER or (event.kind == "user_message" and not state.is_running):
        state.thinks_since = event.at
