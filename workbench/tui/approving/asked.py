"""One question as it is put: handed from `Asking` to the screen that asks and to its box. Plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.tui.approving.proposal import Proposal
from workbench.tui.fold.state import ActionItem


@dataclass(frozen=True)
class Asked:
    """A waiting action, which of how many it is, and the mode that asks."""

    action: ActionItem
    position: int = 1
    total: int = 1
    mode: str = "medium"
    waiting: Sequence[ActionItem] = ()
    """All that waits, in order."""
    proposal: Proposal | None = None
    """What the person made of the action before."""
