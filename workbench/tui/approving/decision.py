"""What the person said to a question; made by the screens that ask, carried to the link by the main screen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from workbench.protocol.commands import AllowAlways, AnswerQuestion, Command, Decide

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

    def command(self, action_id: str, fingerprint: str) -> Command:
        """Return the command that carries the decision to the engine."""
        return Decide(
            action_id=action_id,
            verdict=self.verdict,
            fingerprint=fingerprint,
            note=self.note,
            edited=self.edited,
            hunks=self.hunks,
            written=self.written,
        )


@dataclass(frozen=True)
class Answer:
    """The answer to a question of the agent's."""

    text: str

    def command(self, action_id: str, fingerprint: str) -> Command:
        """Return the command that carries the answer to the engine."""
        return AnswerQuestion(action_id=action_id, text=self.text)


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

    def command(self, action_id: str, fingerprint: str) -> Command:
        """Return the command that approves the action and saves the rule."""
        return AllowAlways(action_id=action_id, fingerprint=fingerprint, rule=self.rule, scope=self.scope)


Outcome = Decision | Answer | Later | Turn | All | Always
"""What a question can end with."""
