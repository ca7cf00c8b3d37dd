"""Which of the waiting actions `Y` approves at once, and in which order risks stand. Pure; used by the question."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from workbench.tui.fold.state import ActionItem

_ORDER: Final = ("LOW", "MEDIUM", "UNKNOWN", "HIGH")
"""Not knowing is no low risk."""


def together(waiting: Sequence[ActionItem], shown: ActionItem, changed: Collection[str] = ()) -> list[ActionItem]:
    """The waiting actions at or below the risk of the one that is shown.

    Questions of the agent's are none, nor are those (by id) of which the person has changed something: approved as it
    was proposed, that change would be lost.
    """
    highest = _ORDER.index(shown.risk)
    return [
        item
        for item in waiting
        if not item.asks and item.action_id not in changed and _ORDER.index(item.risk) <= highest
    ]
