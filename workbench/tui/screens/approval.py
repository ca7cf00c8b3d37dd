"""The approval screen: one waiting action in full, and the keys that decide on it. Opened by `QuestionOpener`."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import ClassVar, Final

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input

from workbench.text import visible
from workbench.tui.screens.approval_editor import ProposalEditor, decision_of, proposal_of
from workbench.tui.screens.approval_keys import Batch, DecisionKeys, Renewal, ScreensAbove
from workbench.tui.screens.question_base import QuestionScreen, behind_bindings, scroll_bindings
from workbench.tui.widgets.diff_view import DiffView
from workbench.tui.widgets.inline_editor import InlineEditor
from workbench.tui.widgets.question_box import QuestionBox
from workbench.tui.widgets.strips import css_beside
from workbench.view.approval.questions import All, Always, Asked, Decision, Later, Renewed, Turn
from workbench.view.approval.rule_preview import RulePreview
from workbench.view.state import ActionItem

_NOTE_HINT: Final = "Note for the agent (sent with your decision)"
_REASON_HINT: Final = "Reason for the agent (optional)"
_PAGE: Final = 10
"""Lines that space scrolls if there is no diff."""

_KEYS: Final[list[BindingType]] = [
    Binding("y", "approve", "Approve", id="approval.approve"),
    Binding("n", "note(True)", "Reject", id="approval.reject"),
    Binding("tab", "note(False)", "Note", id="approval.note"),
    Binding("a", "always", "Always allow this", id="approval.always"),
    Binding("Y", "approve_all", "Approve all up to this risk", id="approval.all"),
    Binding("right", "turn(1)", "Next action", show=False, id="approval.next-action"),
    Binding("left", "turn(-1)", "Previous action", show=False, id="approval.previous-action"),
    Binding("escape", "later", "Not now", id="approval.later"),
    Binding("e", "edit", "Edit", id="approval.edit"),
    Binding("E", "edit_outside", "Edit in $EDITOR", id="approval.edit-outside"),
    Binding("space", "toggle_hunk", "Skip or include the hunk", id="approval.take"),
    Binding("v", "full", "Details", id="approval.full"),
    Binding("d", "full_screen", "Full screen", id="approval.viewer"),
    Binding("question_mark", "app.help", "All keys", id="approval.keys"),
    Binding("s", "diff('split')", "Side by side", id="approval.split"),
    Binding("j", "diff('step(1)')", "Next hunk", id="approval.next"),
    Binding("k", "diff('step(-1)')", "Previous hunk", id="approval.previous"),
    Binding("enter", "diff('fold')", "Expand context", id="approval.fold"),
    *scroll_bindings("approval"),
    *behind_bindings("approval"),
]


class ApprovalScreen(QuestionScreen[Decision | Later | Renewed | Turn | All | Always]):
    """Asks about one action, with the edits in `proposal`; dismisses with the decision, or how else the user left."""

    DEFAULT_CSS = css_beside(__file__)
    BINDINGS: ClassVar[list[BindingType]] = _KEYS

    def __init__(
        self,
        asked: Asked,
        *,
        changed: Collection[str] = (),
        clock: Callable[[], float] = time.monotonic,
        type_in_prompt: Callable[[str], None] = lambda text: None,
        try_rule: Callable[[str], RulePreview] = lambda rule: RulePreview(),
        reserve_rows: Callable[[int], None] = lambda rows: None,
    ) -> None:
        """`changed` holds the ids of other actions that the user edited; `try_rule` returns what a rule would match.

        `reserve_rows` is called with the number of rows at the bottom of the screen that the question covers.
        """
        super().__init__(clock)
        self.item = asked.action
        self.proposal = asked.proposal or proposal_of(asked.action)
        self.box = QuestionBox(asked, self.proposal, reserve_rows)
        self._editor = ProposalEditor(self.item, self.proposal, self.box)
        self._batch = Batch(self.item, asked.waiting, changed)
        self._keys = DecisionKeys(
            self.item,
            self.proposal,
            self.box,
            self._batch,
            self.quiet,
            type_in_prompt=type_in_prompt,
            postpone=partial(self.finish, Later()),
        )
        self._fields = self._keys.fields
        self._above = ScreensAbove(self, self.item, self.proposal, self._batch, box=self.box, try_rule=try_rule)
        self._renewal = Renewal(self, self._fields, self.box, self.item.arguments)
        self._is_rejecting = False

    def compose(self) -> ComposeResult:
        """Yield the box, with its key hints already in it, so that it is laid out only once."""
        self.show_keys()
        yield self.box

    def no_answer(self) -> Later:
        """Return a `Later` marked as not postponed by the user."""
        return Later(aside=True)

    def update_waiting(self, waiting: Sequence[ActionItem]) -> None:
        """Replace the list of waiting actions."""
        if tuple(waiting) != self._batch.waiting and not self.is_finished:
            self._batch.waiting = tuple(waiting)
            self._keys.update_batch()
            self.box.show_batch(waiting)
            self.show_keys()

    def show_keys(self) -> None:
        """Show the active keys."""
        if not self.is_finished:
            self.box.show_keys(self._keys.hints(self.app, is_rejecting=self._is_rejecting))

    def on_resize(self) -> None:
        """Adapt to the size of the screen."""
        self.box.fit(self.size)
        self.call_after_refresh(self.show_keys)

    def on_key(self, event: events.Key) -> None:
        """Let a key decide only after the quiet time; letters typed before it or after the answer go to the prompt."""
        if self.is_finished and event.is_printable and event.character:
            self._keys.pass_on(event.character)
            return
        if self.app.screen is not self:  # pressed before the screen above existed, and meant for neither
            event.stop()
            return
        bound = self.active_bindings.get(event.key)
        if not self._keys.handle(event, bound.binding.action if bound is not None else ""):
            self.call_after_refresh(self.show_keys)

    def on_paste(self, event: events.Paste) -> None:
        """Put pasted text into the prompt."""
        event.stop()
        self._keys.pass_on(event.text)

    @on(DiffView.Stepped)
    def on_stepped(self) -> None:
        """Show the keys for the newly chosen hunk."""
        self.box.fit(self.size)
        self.show_keys()

    def action_approve(self) -> None:
        """Approve the action with its edits, if the user has scrolled to its end."""
        if self._keys.may_approve:
            self.finish(decision_of(self.proposal, self.box.note))

    def action_always(self) -> None:
        """Open the screen that shows the rule and saves it."""
        if self._keys.may_always:
            self._above.show_rule()
        elif not self._fields.is_open and (reason := self._keys.not_always):
            self.notify(f"Always is not possible: {reason}", severity="warning", markup=False)

    def action_approve_all(self) -> None:
        """Open the screen that approves every waiting action up to this risk."""
        if not self._fields.is_open:
            self._above.show_batch()

    def action_turn(self, by: int) -> None:
        """Go to the next or previous waiting action."""
        other = self._batch.neighbor(by)
        if other and not self._fields.is_open:
            self.finish(Turn(other))

    async def action_note(self, rejecting: bool) -> None:
        """Open the input line for a note to any decision or, if `rejecting`, for a reason, with which Enter rejects."""
        if not self._fields.is_open:
            self._is_rejecting = rejecting
            await self.box.open_note(_REASON_HINT if rejecting else _NOTE_HINT)
            self._fields.release()
            self.show_keys()

    @on(Input.Submitted)
    def on_note_written(self, written: Input.Submitted) -> None:
        """Keep the note; if it is a reason, reject the action with it."""
        self.box.close_note(written.value.strip())
        if not self._renewal.is_due() and self._is_rejecting:
            self.finish(Decision("rejected", self.box.note))
        self.show_keys()

    def action_later(self) -> None:
        """Close the note without saving it, or leave the full screen, or else postpone the question."""
        if self.box.is_writing:
            self.box.close_note(None)
            self._renewal.is_due()
            self.show_keys()
        elif self.box.is_full:
            self.action_full_screen()
        else:
            self.finish(Later())

    async def action_edit(self) -> None:
        """Edit the new text of the chosen hunk, or the arguments, inside the question."""
        if not self._fields.is_open:
            if problem := await self._editor.open():
                self.notify(visible(problem), severity="warning", markup=False)
            self._fields.release()
            self.show_keys()

    def action_edit_outside(self) -> None:
        """Edit the chosen hunk or the arguments in the user's own editor."""
        if not self._fields.is_open:
            if problem := self._editor.edit_outside(self.app):
                self.notify(visible(problem), severity="warning", markup=False)
            self.on_text_discarded()

    @on(InlineEditor.Saved)
    def on_text_saved(self, saved: InlineEditor.Saved) -> None:
        """Save the edited text and go back to the question, if the text is valid."""
        if self._editor.save(saved.text):
            self.on_text_discarded()

    @on(InlineEditor.Discarded)
    def on_text_discarded(self) -> None:
        """Go back to the question, which accepts answers only after another quiet time."""
        self.box.close_editor()
        if self._renewal.is_due():
            return
        self.box.show_proposal()
        self.quiet.begin()

    def action_toggle_hunk(self) -> None:
        """Skip the chosen hunk or include it again; if there is no diff, scroll."""
        if self._fields.is_open or self.box.diff is None:
            self.action_move(_PAGE)
        elif self._editor.toggle_hunk():
            self.on_stepped()

    async def action_diff(self, command: str) -> None:
        """Run an action of the diff widget."""
        if self.box.diff is not None and not self._fields.is_open:
            await self.box.diff.run_action(command)
            self.box.fit(self.size)

    def action_move(self, lines: int) -> None:
        """Scroll the question."""
        self.box.scroll_on(lines)

    def action_full(self) -> None:
        """Show all details as one searchable text."""
        self._above.show_details()

    def action_full_screen(self) -> None:
        """Take the whole screen, with the same keys, or only its lower part again."""
        if not self._fields.is_open:
            self.box.toggle_full()
            self.call_after_refresh(self.show_keys)
