"""What the person said to a question; made by the screens that ask, carried to the link by the main screen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Decision:
    """The decision on one action and the words that go to the model with it."""

    verdict: Literal["approved", "rejected"]
    note: str = ""


@dataclass(frozen=True)
class Answer:
    """The answer to a question of the agent's."""

    text: str


@dataclass(frozen=True)
class Later:
    """A question of the agent's left open, with what was written so far; `aside` when it only made room for typing."""

    draft: str = ""
    aside: bool = False
