"""The questions to the user: their data, their outcomes, and which one opens next. Does not import textual."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

from msgspec import Struct

from workbench.protocol.commands import AllowAlways, AnswerQuestion, Command, Decide
from workbench.view.approval.proposal import Proposal
from workbench.view.state import ActionItem

if TYPE_CHECKING:
    from workbench.protocol.events import FileText


class Asked(Struct, frozen=True):
    """A waiting action, its position among the waiting ones, and the mode that asks."""

    action: ActionItem
    position: int = 1
    total: int = 1
    mode: str = "medium"
    waiting: Sequence[ActionItem] = ()
    """All waiting actions, in order."""
    proposal: Proposal | None = None
    """The user's earlier changes to the action, if any."""
    note: str = ""
    """The note that the user has written about it."""
    workspace: str = ""
    """The directory of the session; the question names an action's directory only if it differs."""
    news: str = ""
    """What happened to the question that this one replaces; empty if it replaces none."""


class Decision(Struct, frozen=True):
    """The decision on one action, and the note that goes to the model with it.

    `edited` holds changed arguments, `hunks` the accepted hunks of the preview, and `written` the new content of its
    files; with any of them the verdict is "edited". With `stop`, the run ends before anything else starts.
    """

    verdict: Literal["approved", "rejected", "edited"]
    note: str = ""
    edited: dict[str, Any] | None = None
    hunks: tuple[int, ...] | None = None
    written: tuple[FileText, ...] | None = None
    stop: bool = False

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
            stop=self.stop,
        )


class TextAnswer(Struct, frozen=True):
    """The answer to a question from the agent."""

    text: str

    def command(self, action_id: str, fingerprint: str) -> Command:
        """Return the command that carries the answer to the engine."""
        return AnswerQuestion(action_id=action_id, text=self.text)


class Later(Struct, frozen=True):
    """A question left open, with the draft of the answer; `aside` if it was closed only to show another question."""

    draft: str = ""
    aside: bool = False


class Renewed(Struct, frozen=True):
    """A question closed without an answer: the user is asked again, because the action would do something else now.

    `note` is the text of the open note, which the new question keeps; `arguments` are those that were shown.
    """

    note: str
    arguments: Mapping[str, Any]


class Turn(Struct, frozen=True):
    """A request to show another waiting question."""

    action_id: str


class All(Struct, frozen=True):
    """The approval of several waiting actions, with the id, fingerprint and asking event of each as they were shown."""

    actions: tuple[tuple[str, str, int], ...]


Scope = Literal["session", "folder", "person"]


class Bundle(Struct, frozen=True):
    """The waiting actions that one key approves together, and why the others are not among them."""

    actions: Sequence[ActionItem]
    pending: int
    """How many actions are waiting, including those that are not approved with the others."""
    edited: int = 0
    """How many are excluded because the user has edited them."""
    higher: tuple[str, ...] = ()
    """The risks of those whose risk is higher, highest first."""
    has_question: bool = False
    """Whether the agent's own question is among the others."""


class Always(Struct, frozen=True):
    """The approval of an action and of everything that matches the rule shown with it."""

    rule: str
    scope: Scope

    def command(self, action_id: str, fingerprint: str) -> Command:
        """Return the command that approves the action and saves the rule."""
        return AllowAlways(action_id=action_id, fingerprint=fingerprint, rule=self.rule, scope=self.scope)


Outcome = Decision | TextAnswer | Later | Renewed | Turn | All | Always
"""The possible outcomes of a question."""


_ORDER: Final = ("LOW", "MEDIUM", "UNKNOWN", "HIGH")
"""Risks from lowest to highest; an unknown risk does not count as low."""


def together(waiting: Sequence[ActionItem], current: ActionItem, changed: Collection[str] = ()) -> list[ActionItem]:
    """Return the waiting actions whose risk is not higher than the risk of the action shown.

    Leaves out the agent's questions, and actions (by id) that the user has changed: approved as proposed, they would
    lose those changes.
    """
    highest = _ORDER.index(current.risk)
    return [
        item
        for item in waiting
        if not item.asks and item.action_id not in changed and _ORDER.index(item.risk) <= highest
    ]


def bundled(waiting: Sequence[ActionItem], current: ActionItem, changed: Collection[str] = ()) -> Bundle:
    """Return the waiting actions that are approved with the action shown, and what the others are."""
    actions = together(waiting, current, changed)
    highest = _ORDER.index(current.risk)
    higher = {item.risk for item in waiting if not item.asks and _ORDER.index(item.risk) > highest}
    return Bundle(
        actions,
        len(waiting),
        edited=len(together(waiting, current)) - len(actions),
        higher=tuple(sorted(higher, key=_ORDER.index, reverse=True)),
        has_question=any(item.asks for item in waiting),
    )


class QuestionQueue:
    """Decides which question opens; remembers which ones were postponed. `waiting` is always the state's list."""

    def __init__(self) -> None:
        self._later: set[str] = set()
        self._called = False
        self._rung: set[str] = set()

    def next_to_open(self, waiting: Sequence[str], *, prompt_text: str, is_covered: bool) -> str | None:
        """Return the id of the action whose question opens now, or None.

        None opens while another screen is on top (`is_covered`). Unless the user has called the questions, none opens
        while the prompt has text, and postponed ones do not open.
        """
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
        """Record that the question was answered, so that the next one of the batch may open."""
        self._later.discard(action_id)
        self._rung.discard(action_id)

    def postpone(self, waiting: Sequence[str]) -> None:
        """Stop all waiting questions from opening on their own (after Esc)."""
        self._later.update(waiting)
        self._called = False

    def call(self) -> None:
        """Open the questions now (F8), even if the prompt has text or the question was postponed."""
        self._called = True
        self._later.clear()

    @property
    def is_called(self) -> bool:
        """Whether the user asked for the waiting questions."""
        return self._called

    def rings(self, waiting: Sequence[str]) -> bool:
        """Return whether to ring the bell now: once for each question that could not open."""
        fresh = set(waiting) - self._rung
        self._rung |= fresh
        return bool(fresh)
