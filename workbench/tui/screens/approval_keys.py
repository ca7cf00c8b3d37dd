"""The keys of the approval screen: which are active now, and those that open further screens or concern several
actions.

Nothing in this module decides: the screen's actions do, and `DecisionKeys` says which of them are possible.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, Final

from textual import events
from textual.app import App
from textual.content import Content

from workbench.tui.key_names import key_of
from workbench.tui.screens.always import AlwaysAnswer, AlwaysScreen
from workbench.tui.screens.approval_editor import TextFields, may_edit
from workbench.tui.screens.confirmations import ApproveAllScreen
from workbench.tui.screens.pager import PagerScreen
from workbench.tui.screens.question_base import QuestionScreen, QuietTime, close_with
from workbench.tui.widgets.question_box import QuestionBox
from workbench.view.approval.proposal import Proposal
from workbench.view.approval.questions import All, Always, Bundle, Renewed, bundled
from workbench.view.approval.quiet_time import Overheard
from workbench.view.approval.rule_preview import RulePreview
from workbench.view.formatting.approval import bundle_words, on_one_line
from workbench.view.formatting.detail import full_lines, risk_styles
from workbench.view.formatting.key_hints import KeyHint
from workbench.view.formatting.question import Moment, answer_keys, editing_keys, writing_keys
from workbench.view.state import ActionItem

_ANSWERS: Final = frozenset(
    (
        *("approve", "approve_all", "note(True)", "note(False)", "always", "edit", "edit_outside", "toggle_hunk"),
        *("turn(1)", "turn(-1)", "app.help"),
    )
)
"""Actions that have no effect before the quiet time is over, whatever their keys."""
_LETTERS: Final = frozenset("ynavdsjkeE ?")
"""Letters that are keys of the question: a single one, pressed too early, does not count as the start of a word."""
_OPEN_FIELD: Final = frozenset({"edit", "note(True)", "note(False)"})
"""Actions that open a text field."""
_RENEWED: Final = "What this question shows has changed; nothing was approved."
_OUTDATED: Final = "What this question shows has changed. Close this text (it is kept) to see the new version."
_ALL_EDITED: Final = "You edited these; approve each one with y"


class Batch:
    """The waiting actions in order, including the one that the question is about."""

    def __init__(self, item: ActionItem, waiting: Sequence[ActionItem], changed: Collection[str]) -> None:
        """`changed` holds the ids of the other actions that the user has edited."""
        self._item = item
        self._changed = frozenset(changed)
        self.waiting = tuple(waiting)

    def neighbor(self, by: int) -> str:
        """Return the id of the waiting action `by` positions further, wrapping around; empty if no other action is
        waiting.
        """
        ids = [action.action_id for action in self.waiting]
        if len(ids) < 2 or self._item.action_id not in ids:
            return ""
        return ids[(ids.index(self._item.action_id) + by) % len(ids)]

    def up_to_this_risk(self, *, is_changed: bool) -> Bundle:
        """Return the unedited actions up to this risk, to approve together; `is_changed` says whether the action in
        question is edited.
        """
        changed = {*self._changed, *([self._item.action_id] if is_changed else [])}
        return bundled(self.waiting, self._item, changed)


class DecisionKeys:
    """The keys of one question: which decisions are possible now, the key hints, and where early keys go."""

    def __init__(
        self,
        item: ActionItem,
        proposal: Proposal,
        box: QuestionBox,
        batch: Batch,
        quiet: QuietTime,
        *,
        type_in_prompt: Callable[[str], None],
        postpone: Callable[[], None],
    ) -> None:
        """`postpone` closes the question without an answer."""
        self._item = item
        self._proposal = proposal
        self._box = box
        self._batch = batch
        self._quiet = quiet
        self._type_in_prompt = type_in_prompt
        self._postpone = postpone
        self._overheard = Overheard(self._letters())
        self.fields = TextFields(box)

    @property
    def may_approve(self) -> bool:
        """Whether the action can be approved: the user has scrolled to its end, and at least one hunk is included."""
        return self._box.check_read() and not self.fields.is_open and not self._proposal.is_empty

    @property
    def may_always(self) -> bool:
        """Whether the screen for a rule opens: the user has seen the whole action and not edited it.

        The screen then offers rules, or says why there are none.
        """
        is_unchanged = self._box.check_read() and not self._proposal.is_changed
        return bool(self._item.always or self._item.no_always) and is_unchanged and not self.fields.is_open

    @property
    def not_always(self) -> str:
        """The reason why no rule can be saved for this action; empty if one can be saved once the whole action was
        read.
        """
        if not self._item.always:
            is_repeated = self._item.no_always in self._item.reasons  # among those for which the user is asked
            return "see above" if is_repeated else on_one_line(self._item.no_always) or "no rule covers it"
        return self._proposal.how_changed

    def hints(self, app: App[Any], *, is_rejecting: bool) -> tuple[KeyHint, ...]:
        """Return the active keys, each with its effect."""
        if self._box.is_writing:
            return writing_keys(rejecting=is_rejecting)
        if self._box.editor is not None:
            return editing_keys(partial(key_of, app))
        diff = self._box.diff
        bundle = self._batch.up_to_this_risk(is_changed=self._proposal.is_changed)
        now = Moment(
            self._box.check_read(),
            self._quiet.check(),
            diff.current if diff else -1,
            len(self._batch.waiting),
            all_words=bundle_words(bundle) if len(bundle.actions) > 1 else "",
            may_always=self.may_always and bool(self._item.always),
            not_always=self.not_always,
            may_edit=may_edit(self._item),
            may_grow=self._box.may_grow,
            is_full=self._box.is_full,
            key=partial(key_of, app),
        )
        return answer_keys(self._proposal, now)

    def handle(self, event: events.Key, action: str) -> bool:
        """Stop a key that must not reach its binding; return whether the quiet time was over when it was pressed.

        A key during the quiet time restarts it and decides nothing; words typed then go to the prompt, and so do words
        that begin with a letter without a binding. `action` is the action that the key is bound to.
        """
        is_accepted = self._quiet.accepts(event)
        if is_accepted and self.fields.claim(event):
            event.stop()
            return True
        if is_accepted and (action or self.fields.is_open or not event.is_printable):
            self._overheard.forget()
            if not self.fields.is_open and action in _OPEN_FIELD:
                self.fields.expect()
            return True
        if action in _ANSWERS:
            event.stop()
        if event.is_printable and event.character and (text := self._overheard.hear(event.character)):
            event.stop()
            self.pass_on(text)
        return False

    def pass_on(self, text: str) -> None:
        """Insert text that was meant for the prompt there, and postpone the question."""
        self._overheard.forget()
        self._type_in_prompt(text)
        self._postpone()

    def update_batch(self) -> None:
        """Adapt to a changed number of waiting actions: `Y` is a key of the question only if several wait."""
        self._overheard.own = self._letters()

    def _letters(self) -> frozenset[str]:
        return _LETTERS | {"Y"} if len(self._batch.waiting) > 1 else _LETTERS


class Renewal:
    """Closes a question so that it opens again about the changed action, but never while a text field is open."""

    def __init__(
        self, question: QuestionScreen[Any], fields: TextFields, box: QuestionBox, arguments: Mapping[str, Any]
    ) -> None:
        """`arguments` are those that the question shows; the action may get others."""
        self._question = question
        self._fields = fields
        self._box = box
        self._arguments = arguments
        question.renew = self.begin
        self.is_outdated = False
        """Whether the question is asked again as soon as no text field is open."""

    def begin(self) -> None:
        """Close the question with the user's note, at once or as soon as the open text field is closed."""
        if not self._fields.is_open:
            close_with(self._question, Renewed(self._box.note, self._arguments), _RENEWED)
        elif not self.is_outdated:
            self.is_outdated = True
            self._question.notify(_OUTDATED, severity="warning", markup=False)

    def is_due(self) -> bool:
        """Close the question if it was waiting only for a text field that is closed by now; return whether it is
        outdated.
        """
        if self.is_outdated and not self._fields.is_open:
            self.begin()
        return self.is_outdated


class ScreensAbove:
    """Opens the screens above a question: to save a rule, approve several actions, read the details, see the diff."""

    def __init__(
        self,
        question: QuestionScreen[Any],
        item: ActionItem,
        proposal: Proposal,
        batch: Batch,
        *,
        box: QuestionBox,
        try_rule: Callable[[str], RulePreview],
    ) -> None:
        """`try_rule` returns what a rule would match."""
        self._question = question
        self._box = box
        self._item = item
        self._proposal = proposal
        self._batch = batch
        self._try_rule = try_rule

    def show_rule(self) -> None:
        """Show the rules that fit the action, or why there are none; saving one approves the action too."""

        def save(answer: AlwaysAnswer | None) -> None:
            self._reserve()
            if answer is not None:
                self._question.finish(Always(answer.rule, answer.scope))

        item, clock = self._item, self._question.quiet.clock
        screen = AlwaysScreen(item.always, item.no_always, self._try_rule, reserve_rows=self._reserve, clock=clock)
        self._question.app.push_screen(screen, save)

    def show_batch(self) -> None:
        """Show the waiting, unedited actions up to this risk, on a screen that approves all of them."""
        if len(self._batch.waiting) < 2:
            return
        bundle = self._batch.up_to_this_risk(is_changed=self._proposal.is_changed)
        if not bundle.actions:
            self._question.notify(_ALL_EDITED, severity="warning", markup=False)
            return
        answers = tuple((action.action_id, action.fingerprint, action.asked) for action in bundle.actions)

        def approve(is_approved: bool | None) -> None:
            self._reserve()
            if is_approved:
                self._question.finish(All(answers))

        clock = self._question.quiet.clock
        screen = ApproveAllScreen(bundle, reserve_rows=self._reserve, clock=clock)
        self._question.app.push_screen(screen, approve)

    def _reserve(self, rows: int = 0) -> None:
        """Keep the rows that a panel above covers free, at least those of the question, unless it was withdrawn."""
        if self._box.is_attached:
            self._box.reserve_rows(max(rows, self._box.outer_size.height))

    def show_details(self) -> None:
        """Show all details of the action as one text."""
        lines = full_lines(self._item, self._proposal)
        text, styles = "\n".join(line.text for line in lines), risk_styles(lines)
        self._question.app.push_screen(PagerScreen(Content("Action details"), text, styles=styles))
