"""Opens the questions of a session and sends the answers to the engine; `QuestionQueue` decides when one may open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events
from textual.screen import Screen

from workbench.client.client import Client
from workbench.tui.messages import QuestionRang
from workbench.tui.screens.question_base import restart_quiet_times
from workbench.tui.widgets.dock_space import DockSpace
from workbench.tui.widgets.prompt import Prompt
from workbench.view.approval.questions import (
    All,
    Always,
    Asked,
    Decision,
    Later,
    QuestionQueue,
    Renewed,
    TextAnswer,
    Turn,
)
from workbench.view.notices import read_only_line
from workbench.view.state import ActionItem, Changed, SessionState

if TYPE_CHECKING:
    from workbench.tui.screens.agent_question import AnswerScreen
    from workbench.tui.screens.approval import ApprovalScreen
    from workbench.view.approval.proposal import Proposal
    from workbench.view.approval.questions import Outcome

_Question = tuple[str, str, int]
"""Identifies a question: id and fingerprint of the action, and the number of the event that asked."""


class QuestionOpener:
    """Opens questions, at most one at a time, on top of the screen that has the prompt."""

    def __init__(self, screen: Screen[None], client: Client, state: SessionState) -> None:
        self._screen = screen
        self._client = client
        self._state = state
        self._queue = QuestionQueue()
        self._space = DockSpace(screen)
        self._answered: set[_Question] = set()
        """Questions whose answer is on its way to the engine."""
        self._drafts: dict[str, str] = {}
        self._proposals: dict[tuple[str, str], Proposal] = {}
        """The waiting actions with the user's edits, by id and fingerprint."""
        self._open: tuple[_Question, ApprovalScreen | AnswerScreen] | None = None
        self._had_control = True

    @property
    def _prompt(self) -> Prompt:
        return self._screen.query_one(Prompt)

    def refresh(self, changed: Changed | None = None) -> None:
        """Withdraw a settled question, open the next one, and ring if the user may not see it.

        Call this after the session or the prompt has changed.
        """
        self._forget_refused(changed)
        waiting = self._waiting()
        self._withdraw_settled(waiting)
        if self._open is not None and self._open[0][0] in waiting:
            self._open[1].update_waiting([self._state.actions[action_id] for action_id in waiting])
        if self._state.has_control and not self._had_control:
            restart_quiet_times(self._screen.app)  # a key meant for a read-only screen is no answer
        self._had_control = self._state.has_control
        app = self._screen.app
        is_covered = app.screen is not self._screen
        action_id = self._queue.next_to_open(waiting, prompt_text=self._prompt.text, is_covered=is_covered)
        if action_id is not None and self._open is None:  # a question that was closed may still have to be handled
            self._show(action_id, waiting, is_called=self._queue.is_called)
        if self._open is None:
            self._space.release()
        is_unseen = self._open is None or not app.app_focus
        if waiting and is_unseen and self._queue.rings(waiting):
            self._screen.post_message(QuestionRang())

    def open(self, action_id: str) -> bool:
        """Open the question of this action; return False if it is not waiting or another question is open."""
        waiting = self._waiting()
        if action_id not in waiting or self._open is not None:
            return False
        self._show(action_id, waiting, is_called=True)
        return True

    def _reopen(self, question: _Question, renewed: Renewed) -> bool:
        """Open the question of an action that has changed, with the user's note and the edits that still fit."""
        from workbench.tui.screens.approval_editor import proposal_of
        from workbench.view.approval.proposal import renewal_news

        action_id, waiting = question[0], self._waiting()
        if action_id not in waiting or self._open is not None:
            return False
        item = self._state.actions[action_id]
        before, proposal = self._proposals.pop(question[:2], None), proposal_of(item)
        lost = proposal.adopt(before) if before is not None else 0
        if proposal.arguments is not None and item.arguments != renewed.arguments:
            proposal.arguments, lost = None, lost + 1
        self._proposals[_question(item)[:2]] = proposal
        self._show(action_id, waiting, is_called=True, note=renewed.note, news=renewal_news(proposal, lost))
        return True

    def open_above(self, action_id: str = "") -> None:
        """Open the question of this action, or of the next waiting one, on top of whatever screen is shown."""
        waiting = self._waiting()
        if waiting:
            self.open(action_id if action_id in waiting else waiting[0])

    def open_next(self) -> None:
        """Open the next waiting question, even one that was postponed."""
        self._queue.call()
        self.refresh()

    def _waiting(self) -> list[str]:
        """Return the ids of the waiting actions, except those whose answer is on its way."""
        actions = self._state.actions
        return [each for each in self._state.waiting if _question(actions[each]) not in self._answered]

    def _show(self, action_id: str, waiting: list[str], *, is_called: bool, note: str = "", news: str = "") -> None:
        item = self._state.actions[action_id]
        if item.asks:
            screen: AnswerScreen | ApprovalScreen = self._answer_screen(item, is_called)
        else:
            screen = self._approval_screen(item, waiting, note, news)
        screen.is_refused = self._is_refused
        question = _question(item)
        self._open = (question, screen)
        self._screen.app.push_screen(screen, lambda result: self._closed(question, result))

    def _is_refused(self, result: Outcome | None) -> bool:
        """Return whether the result is an answer, which a screen that is not in control cannot give; say so."""
        is_refused = not self._state.has_control and isinstance(result, Decision | Always | All | TextAnswer)
        if is_refused:
            self._screen.notify(read_only_line(self._state), severity="warning", markup=False)
        return is_refused

    def _approval_screen(self, item: ActionItem, waiting: list[str], note: str, news: str) -> ApprovalScreen:
        from workbench.tui.screens.approval import ApprovalScreen
        from workbench.view.approval.rule_preview import try_rule

        key = _question(item)[:2]
        actions = [self._state.actions[action_id] for action_id in waiting]
        position = waiting.index(item.action_id) + 1
        others = [(each[0], proposal) for each, proposal in self._proposals.items() if each[0] != item.action_id]
        screen = ApprovalScreen(
            Asked(
                item,
                position,
                len(waiting),
                self._state.mode,
                actions,
                self._proposals.get(key),
                note,
                self._state.workspace,
                news,
            ),
            changed=[other for other, proposal in others if proposal.is_changed],
            type_in_prompt=lambda text: self._prompt.type_in(text),
            try_rule=lambda rule: try_rule(rule, self._state),
            reserve_rows=self._space.reserve,
        )
        self._proposals = {each: proposal for each, proposal in self._proposals.items() if each[0] in waiting}
        self._proposals[key] = screen.proposal
        return screen

    def _answer_screen(self, item: ActionItem, is_called: bool) -> AnswerScreen:
        """Return the screen for the agent's question; unless the user opened it, early keys go to the prompt."""
        from workbench.tui.screens.agent_question import AnswerScreen

        draft = self._drafts.get(item.action_id, "")
        return AnswerScreen(
            item, draft=draft, pass_on=None if is_called else self._pass_on, reserve_rows=self._space.reserve
        )

    def _pass_on(self, event: events.Key | events.Paste) -> None:
        if isinstance(event, events.Key):
            self._prompt.post_message(events.Key(event.key, event.character))
        else:
            self._prompt.post_message(events.Paste(event.text))

    def _closed(self, question: _Question, result: Outcome | None) -> None:
        self._open = None
        if isinstance(result, Turn):
            if self.open(result.action_id):
                return
        elif isinstance(result, Renewed):
            if self._reopen(question, result):
                return
        elif isinstance(result, All):
            for each in result.actions:
                # If the action has been asked about again, that is a new question, which the user has not answered.
                if _question(self._state.actions[each[0]]) == each:
                    self._send(each, Decision("approved"))
        else:
            self._send(question, result or Later())
        self._screen.call_after_refresh(self.refresh)

    def _send(self, question: _Question, result: Decision | Always | TextAnswer | Later) -> None:
        """Send the answer to the engine or, for `Later`, keep the draft; do nothing if the action no longer waits."""
        action_id, fingerprint, _ = question
        if action_id not in self._state.waiting:
            return
        if isinstance(result, Later):
            self._drafts[action_id] = result.draft
            if not result.aside:
                self._queue.postpone(self._state.waiting)
            return
        self._answered.add(question)
        self._queue.answered(action_id)
        if isinstance(result, TextAnswer):
            self._drafts[action_id] = result.text
        self._client.send(result.command(action_id, fingerprint))

    def _withdraw_settled(self, waiting: list[str]) -> None:
        """Withdraw the open question if another front end answered it or the run was stopped; renew it if the action
        changed.
        """
        if self._open is None:
            return
        question, screen = self._open
        if question[0] not in waiting:
            screen.withdraw()
        elif _question(self._state.actions[question[0]]) != question:
            screen.renew()

    def _forget_refused(self, changed: Changed | None) -> None:
        """Let every question be asked again if the engine refused a command."""
        if changed is not None and changed.refused:
            self._answered.clear()


def _question(item: ActionItem) -> _Question:
    return item.action_id, item.fingerprint, item.asked
