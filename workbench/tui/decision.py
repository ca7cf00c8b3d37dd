"""What the person answered to a question; made by the approval screen, carried to the link by the main screen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Decision:
    """The answer on one action and the words that go to the model with it."""

    verdict: Literal["approved", "rejected"]
    note: str = ""
