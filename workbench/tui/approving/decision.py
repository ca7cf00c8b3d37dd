"""What the person said to a question; made by the screens that ask, carried to the link by the main screen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:  # the screen is painted before pydantic is loaded
    from workbench.protocol.events import FileText


@dataclass(frozen=True)
class Decision:
    """The decision on one action and the words that go to the model with it; the verdict is "edited" with the rest.

    `edited` are other arguments; `hunks` the accepted ones of the preview, and `written` what its files shall hold.
    """

    verdict: Literal["approved", "rejected", "edited"]
    note: str = ""
    edited: dict[str, Any] | None = None
    hunks: tuple[int, ...] | None = None
    written: tuple[FileText, ...] | None = None

    @property
    def changes(self) -> dict[str, Any]:
        """How what is approved differs from what was proposed, as the link takes it; empty when it does not."""
        said = {"edited": self.edited, "hunks": self.hunks, "written": self.written}
        return {name: value for name, value in said.items() if value is not None}


@dataclass(frozen=True)
class Answer:
    """The answer to a question of the agent's."""

    text: str


@dataclass(frozen=True)
class Later:
    """A question left open, with what was written so far; `aside` when it only made room and was not put off."""

    draft: str = ""
    aside: bool = False


@dataclass(frozen=True)
class Turn:
    """Another of the questions that wait is to be shown."""

    action_id: str


@dataclass(frozen=True)
class All:
    """Several waiting actions are approved: id, fingerprint and the event that asked of each, as they were shown."""

    shown: tuple[tuple[str, str, int], ...]


Scope = Literal["session", "folder", "person"]


@dataclass(frozen=True)
class Always:
    """The action is approved, and so is what fits the rule that was shown with it."""

    rule: str
    scope: Scope


Outcome = Decision | Answer | Later | Turn | All | Always
"""What a question can end with."""
