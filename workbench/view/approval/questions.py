"""What a question to the user consists of: its data, its outcomes, and when a key may answer it. No textual here."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
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


QUIET = 0.5
"""Seconds a question must be visible without a key press before it takes an answer.

What deletes, calls a model or trusts a directory waits as long, so that keys typed ahead do not count.
"""


class Arming:
    """The quiet time of one question on the screen; once over it stays over, until the question is shown again."""

    def __init__(self) -> None:
        self._quiet_since: float | None = None
        self._armed = False

    def start(self, at: float) -> None:
        """Start the quiet time: the question is visible from now on."""
        self._quiet_since = at
        self._armed = False

    def key(self, at: float) -> bool:
        """Take a key press and return whether it may answer; one that may not restarts the quiet time."""
        if self.is_armed(at):
            self._armed = True
            return True
        if self._quiet_since is not None:
            self._quiet_since = max(at, self._quiet_since)
        return False

    def is_armed(self, at: float) -> bool:
        """Return whether a key pressed at that time may answer.

        Asking does not end the quiet time: after a stall the screen asks before it gets the keys that were pressed
        earlier.
        """
        return self._armed or (self._quiet_since is not None and at - self._quiet_since >= QUIET)

    @property
    def is_over(self) -> bool:
        """Whether a key or a click may have answered: one came after the quiet time."""
        return self._armed


class Confirmation:
    """Ties an answer on a panel (a second press, or a key below what it agrees to) to what is in sight.

    What is asked about is in sight from the frame on that shows it. A key or a click answers it when it was pressed
    `QUIET` seconds after that frame and after any that came too early. When it was pressed counts, not when the screen
    came to handle it, so that nothing typed blindly while the screen stood still is an answer.
    """

    PASSES: Final = frozenset({"escape", "up", "down", "pageup", "pagedown", "home", "end", "tab", "shift+tab"})
    """Keys that answer nothing anywhere; they work at once and do not restart the quiet time."""

    def __init__(self, when_painted: Callable[[Callable[[], None]], object], clock: Callable[[], float]) -> None:
        """`when_painted` calls a function once everything put on the screen so far is painted."""
        self._when_painted = when_painted
        self._clock = clock
        self._about: object = None
        self._arming = Arming()

    def ask(self, about: object) -> None:
        """Ask about this, which the next frame shows; an earlier answer does not count for it."""
        self._about, arming = about, Arming()
        self._arming = arming
        self._when_painted(lambda: arming.start(self._clock()))

    def forget(self) -> None:
        """Stop asking."""
        self._about = None

    @property
    def is_armed(self) -> bool:
        """Whether a key pressed now may answer."""
        return self._arming.is_armed(self._clock())

    def hears(self, key: str, age: float) -> bool:
        """Take a key (empty for a click) pressed `age` seconds ago; return False if it came too early to count."""
        return self._about is None or key in self.PASSES or self._arming.key(self._clock() - max(0.0, age))

    def is_asked(self, about: object) -> bool:
        """Return whether this is what is asked about."""
        return self._about is not None and self._about == about

    def is_answered(self, about: object) -> bool:
        """Return whether this is what is asked about, and the last key or click may answer it."""
        return self.is_asked(about) and self._arming.is_over


class Overheard:
    """What is typed before the quiet time is over: words are for the prompt, a single early key is dropped."""

    def __init__(self, own: frozenset[str]) -> None:
        self.own = own
        self._letters = ""

    def hear(self, letter: str) -> str:
        """Take a letter; return nothing while only a single one of the `own` keys was pressed, else all letters."""
        self._letters += letter
        is_one_key = letter in self.own and not self._letters.strip(letter)
        return "" if is_one_key else self._letters

    def forget(self) -> None:
        """Forget what was typed, as the quiet time is over."""
        self._letters = ""


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
