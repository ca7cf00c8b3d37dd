"""Which of the waiting actions `Y` approves at once, and in which order risks stand. Pure; used by the question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from workbench.tui.fold.state import ActionItem

_ORDER: Final = ("LOW", "MEDIUM", "UNKNOWN", "HIGH")
"""Not knowing is no low risk."""


def together(waiting: Sequence[ActionItem], shown: ActionItem) -> list[ActionItem]:
    """The waiting actions at or below the risk of the one that is shown; questions of the agent's are none."""
    highest = _ORDER.index(shown.risk)
    return [item for item in waiting if not item.asks and _ORDER.index(item.risk) <= highest]
