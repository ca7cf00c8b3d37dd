"""The approval modal: one waiting action, whole, and the keys that decide it. Pushed by the main screen."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input

from workbench.tui.key_names import key_of
from workbench.tui.screens.approval_parts import open_text
from workbench.tui.screens.reviewing import ReviewScreen
from workbench.tui.textual_seam.screen import own_bindings
from workbench.tui.widgets.painting import css_beside
from workbench.view.approval.proposal import Proposal
from workbench.view.approval.questions import All, Always, Asked, Decision, Later, Overheard, Scope, Turn, together
from workbench.view.approval.rule_trial import Trial
from workbench.view.formatting.approval import EDITING, Hint, Moment, answer_keys, writing_keys
from workbench.view.state import ActionItem

ANSWERS = frozenset({"y", "Y", "n", "tab", "a", "e", "E", "space", "left", "right"})
"""Keys that do nothing before the quiet time is over."""
_LETTERS = frozenset("ynavdsjkeE ")
"""Keys of the question that are letters: pressed too early, one alone is not the beginning of a word."""
_ALL_CHANGED = "you changed what these would do: each is approved by itself, with y"
_NOTE_ASKED = "a note to the model, sent with your answer"
_REASON_ASKED = "why not? goes to the model, may stay empty"


class ApprovalScreen(ReviewScreen[Decision | Later | Turn | All | Always]):
    """Asks about one action; dismisses with the decision, or how it was left: for later, for another, withdrawn."""

    DEFAULT_CSS = css_beside(__file__)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "approve", "Approve", id="approval.approve"),
        Binding("n", "note(True)", "Reject", id="approval.reject"),
        Binding("tab", "note(False)", "Note", id="approval.note"),
        Binding("a", "always", "Always allow this", id="approval.always"),
        Binding("Y", "approve_all", "Approve all up to this risk", id="approval.all"),
        Binding("right", "turn(1)", "Next action", show=False, id="approval.next-action"),
        Binding("left", "turn(-1)", "Previous action", show=False, id="approval.previous-action"),
        Binding("escape", "later", "Later", id="approval.later"),
        Binding("ctrl+down", "behind(3)", "Conversation down", show=False, id="approval.behind-down"),
        Binding("ctrl+up", "behind(-3)", "Conversation up", show=False, id="approval.behind-up"),
    ]

    def __init__(
        self,
        asked: Asked,
        *,
        changed: Collection[str] = (),
        clock: Callable[[], float] = time.monotonic,
        typed: Callable[[str], None] = lambda text: None,
        tried: Callable[[str], Trial] = lambda rule: Trial(),
    ) -> None:
        """`typed` takes the letters that were meant for the prompt, `tried` says what a rule would have matched.

        `changed` are those that wait (by id) of which the person has changed something.
        """
        super().__init__(asked, clock)
        self._waiting = tuple(asked.waiting)
        self._changed = frozenset(changed)
        self._rejecting = False
        self._overheard = Overheard(_letters(asked.waiting))
        self._typed = typed
        self._tried = tried

    def compose(self) -> ComposeResult:
        """The box, with the keys that work, so that it is laid out once."""
        self.box.show_keys(self._answers())
        yield from super().compose()

    def unanswered(self) -> Later:
        """Nobody put it off."""
        return Later(aside=True)

    def stands_beside(self, waiting: Sequence[ActionItem]) -> None:
        """The list of what waits is another one now."""
        if tuple(waiting) != self._waiting and not self.has_left:
            self._waiting = tuple(waiting)
            self._overheard.own = _letters(waiting)
            self.box.show_batch(waiting)
            self.tell()

    def on_key(self, event: events.Key) -> None:
        """Each key before the quiet time is over begins it anew; none of those answers, and words go to the prompt."""
        if self.has_left and event.is_printable and event.character:
            self._type(event.character)  # it came in one burst with the letter that closed the question
            return
        if self.heard(event):
            self._overheard.forget()
            if self.early.take(event, open_text(self.box)):
                event.stop()
            elif not self.is_busy and self._opens_text(event.key):
                self.early.begin()
            return
        if event.key in ANSWERS:
            event.stop()
        if event.is_printable and event.character and (text := self._overheard.hear(event.character)):
            event.stop()
            self._type(text)
        self.call_after_refresh(self.tell)

    def _opens_text(self, key: str) -> bool:
        bound = own_bindings(self).get(key, ())
        return any(binding.action in ("edit", "note(True)", "note(False)") for binding in bound)

    def on_paste(self, event: events.Paste) -> None:
        """A paste is text for the prompt."""
        event.stop()
        self._type(event.text)

    def _type(self, text: str) -> None:
        """Text meant for the prompt goes there, and the question waits until it is called for."""
        self._overheard.forget()
        self._typed(text)
        self.leave(Later())

    def tell(self) -> None:
        """Show the keys that work now."""
        if self.has_left:
            return
        if self.box.is_writing:
            self.box.show_keys(writing_keys(rejecting=self._rejecting))
        elif self.box.editor is not None:
            self.box.show_keys(EDITING)
        else:
            self.box.show_keys(self._answers())

    def _answers(self) -> tuple[Hint, ...]:
        """The keys that work while nothing is written; also before the box is in sight."""
        diff = self.box.diff
        now = Moment(self.box.look(), self.is_armed, diff.current if diff else -1, len(self._waiting))
        now = replace(now, may_always=self._may_always, may_edit=self.may_edit, key=partial(key_of, self.app))
        return answer_keys(self.proposal, now, has_diff=bool(self.item.preview))

    def action_approve(self) -> None:
        """Approve what is shown, if it was seen to its end."""
        if self.box.look() and not self.is_busy and not self.proposal.is_empty:
            self.leave(decision_of(self.proposal, self.box.note))

    @property
    def _may_always(self) -> bool:
        """Whether a rule can be saved: there is one, and all of the action was seen as it was proposed."""
        return bool(self.item.always) and self.box.look() and not self.proposal.is_changed

    def action_always(self) -> None:
        """Show the rule that would be saved; that screen saves it."""
        from workbench.tui.screens.confirmations import AlwaysScreen

        if self._may_always and not self.is_busy:
            rule = self.item.always
            screen = AlwaysScreen(rule, self._tried(rule), clock=self.clock)
            self.app.push_screen(screen, lambda scope: self._allowed(rule, scope))

    def _allowed(self, rule: str, scope: Scope | None) -> None:
        if scope is not None:
            self.leave(Always(rule, scope))

    def action_approve_all(self) -> None:
        """Show all that is at or below this risk; that screen approves it."""
        from workbench.tui.screens.confirmations import ApproveAllScreen

        if self.is_busy or len(self._waiting) < 2:
            return
        changed = {*self._changed, *([self.item.action_id] if self.proposal.is_changed else [])}
        actions = together(self._waiting, self.item, changed)
        left_out = len(together(self._waiting, self.item)) - len(actions)
        if not actions:
            self.say(_ALL_CHANGED)
            return
        shown = tuple((action.action_id, action.fingerprint, action.asked) for action in actions)
        screen = ApproveAllScreen(actions, left_out, clock=self.clock)
        self.app.push_screen(screen, lambda approved: self.leave(All(shown)) if approved else None)

    def action_turn(self, by: int) -> None:
        """Show another of the actions that wait."""
        names = [action.action_id for action in self._waiting]
        if len(names) > 1 and not self.is_busy and self.item.action_id in names:
            self.leave(Turn(names[(names.index(self.item.action_id) + by) % len(names)]))

    async def action_note(self, rejecting: bool) -> None:
        """Ask for a reason, with which Enter rejects, or for a note that goes with either answer."""
        if not self.is_busy:
            self._rejecting = rejecting
            await self.box.open_note(_REASON_ASKED if rejecting else _NOTE_ASKED)
            self.early.end(open_text(self.box))
            self.tell()

    @on(Input.Submitted)
    def on_note_written(self, written: Input.Submitted) -> None:
        """Enter in the note: keeps it, or rejects with it."""
        self.box.close_note(written.value.strip())
        if self._rejecting:
            self.leave(Decision("rejected", self.box.note))
        self.tell()

    def action_later(self) -> None:
        """Out of the note, or out of the question without an answer."""
        if self.box.is_writing:
            self.box.close_note(None)
            self.tell()
        else:
            self.leave(Later())


def _letters(waiting: Sequence[ActionItem]) -> frozenset[str]:
    return _LETTERS | {"Y"} if len(waiting) > 1 else _LETTERS


def decision_of(proposal: Proposal, note: str) -> Decision:
    """The approval of what the person made of the proposal."""
    if not proposal.is_changed:
        return Decision("approved", note)
    if proposal.arguments is not None:
        return Decision("edited", note, edited=proposal.arguments)
    from workbench.protocol.events import FileText  # pydantic is loaded only when it is needed

    written = tuple(FileText(path=path, text=text) for path, text in proposal.written())
    return Decision("edited", note, hunks=proposal.accepted, written=written)
