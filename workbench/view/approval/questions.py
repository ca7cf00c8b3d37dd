"""What a question to the user consists of: its data, its outcomes, and which question opens next. No textual here."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from workbench.protocol.commands import AllowAlways, AnswerQuestion, Command, Decide
from workbench.text import counted
from workbench.view.approval.proposal import Proposal
from workbench.view.state import ActionItem

if TYPE_CHECKING:
    from workbench.protocol.events import FileText


@dataclass(frozen=True)
class Asked:
    """A waiting action, its position among all that wait, and the mode that asks."""

    action: ActionItem
    position: int = 1
    total: int = 1
    mode: str = "medium"
    waiting: Sequence[ActionItem] = ()
    """All waiting actions, in order."""
    proposal: Proposal | None = None
    """What the user made of the action before."""


@dataclass(frozen=True)
class Decision:
    """The decision on one action, and the note that goes to the model with it.

    `edited` are other arguments, `hunks` the accepted ones of the preview, and `written` what its files are to hold;
    with any of them the verdict is "edited".
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
class TextAnswer:
    """The answer to a question of the agent."""

    text: str

    def command(self, action_id: str, fingerprint: str) -> Command:
        """Return the command that carries the answer to the engine."""
        return AnswerQuestion(action_id=action_id, text=self.text)


@dataclass(frozen=True)
class Later:
    """A question left open, with what was written so far; `aside` if it only made room and was not postponed."""

    draft: str = ""
    aside: bool = False


@dataclass(frozen=True)
class Turn:
    """A request to show another of the waiting questions."""

    action_id: str


@dataclass(frozen=True)
class All:
    """The approval of several waiting actions: id, fingerprint and asking event of each, as they were shown."""

    actions: tuple[tuple[str, str, int], ...]


Scope = Literal["session", "folder", "person"]


@dataclass(frozen=True)
class Always:
    """The approval of an action and of everything that fits the rule shown with it."""

    rule: str
    scope: Scope

    def command(self, action_id: str, fingerprint: str) -> Command:
        """Return the command that approves the action and saves the rule."""
        return AllowAlways(action_id=action_id, fingerprint=fingerprint, rule=self.rule, scope=self.scope)


Outcome = Decision | TextAnswer | Later | Turn | All | Always
"""What a question can end with."""


_ORDER: Final = ("LOW", "MEDIUM", "UNKNOWN", "HIGH")
"""An unknown risk does not count as low."""


def together(waiting: Sequence[ActionItem], current: ActionItem, changed: Collection[str] = ()) -> list[ActionItem]:
    """Return the waiting actions at or below the risk of the one that is shown.

    Leaves out questions of the agent, and actions (by id) of which the user has changed something: approved as
    proposed, they would lose that change.
    """
    highest = _ORDER.index(current.risk)
    return [
        item
        for item in waiting
        if not item.asks and item.action_id not in changed and _ORDER.index(item.risk) <= highest
    ]


class QuestionDesk:
    """Decides which question opens; knows which were postponed or called for. `waiting` is always the state's list."""

    def __init__(self) -> None:
        self._later: set[str] = set()
        self._called = False
        self._rung: set[str] = set()

    def next_to_open(self, waiting: Sequence[str], *, prompt_text: str, is_covered: bool) -> str | None:
        """Return the action whose question opens now, or None; `is_covered` says that something else is on top."""
        self._later &= set(waiting)
        self._rung &= set(waiting)
        if is_covered or not waiting:
            self._called = self._called and bool(waiting)
            return None
        if self._called:
            return waiting[0]
        first = next((action for action in waiting if action not in self._later), None)
        return None if prompt_text else first

    def answered(self, action_id: str) -> None:
        """Note that the question is answered, so that the next one of the batch may open."""
        self._later.discard(action_id)
        self._rung.discard(action_id)

    def put_off(self, waiting: Sequence[str]) -> None:
        """Keep all questions that wait from opening by themselves (after escape)."""
        self._later.update(waiting)
        self._called = False

    def call(self) -> None:
        """Open the questions now (F8), even if the prompt has text or the question was postponed."""
        self._called = True
        self._later.clear()

    @property
    def is_called(self) -> bool:
        """Whether the user asked for the questions that wait."""
        return self._called

    def line(self, waiting: Sequence[str]) -> str:
        """Return what the prompt's line says about questions that are not open; empty when none waits."""
        if not waiting:
            return ""
        return f"{counted(len(waiting), 'action')} waiting · F8"

    def rings(self, waiting: Sequence[str]) -> bool:
        """Return whether to ring the bell now: once for each question that could not open."""
        fresh = set(waiting) - self._rung
        self._rung |= fresh
        return bool(fresh)
