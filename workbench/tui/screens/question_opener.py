"""Opens the questions of the main screen and carries the answers to the link; when one may open, the desk decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events

from workbench.client.client import Client
from workbench.tui.messages import QuestionRang
from workbench.tui.widgets.prompt import Prompt
from workbench.view.approval.questions import QuestionDesk
from workbench.view.state import ActionItem, Changed, NoticeItem, SessionState

if TYPE_CHECKING:
    from workbench.tui.screens.answer import AnswerScreen
    from workbench.tui.screens.approval import ApprovalScreen
    from workbench.tui.screens.main import MainScreen
    from workbench.view.approval.proposal import Proposal
    from workbench.view.approval.questions import Always, Answer, Decision, Later, Outcome


_Shown = tuple[str, str, int]
"""One question: the action, its fingerprint, and the event that asked."""


class Asking:
    """One per main screen; at most one question is open."""

    def __init__(self, screen: MainScreen, link: Client, state: SessionState) -> None:
        self._screen = screen
        self._link = link
        self._state = state
        self._desk = QuestionDesk()
        self._answered: set[_Shown] = set()
        self._drafts: dict[str, str] = {}
        self._proposals: dict[tuple[str, str], Proposal] = {}
        self._open: tuple[_Shown, ApprovalScreen | AnswerScreen] | None = None

    def look(self, changed: Changed | None = None) -> None:
        """Something changed: open a question, close one that is settled, or ring."""
        self._forget_refused(changed)
        waiting = self._waiting()
        self._close_settled(waiting)
        self._tell_of_others(waiting)
        app = self._screen.app
        is_covered = app.screen is not self._screen
        text = self._screen.query_one(Prompt).text
        action_id = self._desk.next_to_open(waiting, prompt_text=text, is_covered=is_covered)
        if action_id is not None:
            self._show(action_id, waiting, called=self._desk.is_called)
        unseen = self._open is None or not app.app_focus
        if waiting and unseen and self._desk.rings(waiting):
            self._screen.post_message(QuestionRang())

    def open(self, action_id: str) -> bool:
        """Ask about this action now, if it waits; says whether it does."""
        waiting = self._waiting()
        if action_id not in waiting or self._open is not None:
            return False
        self._show(action_id, waiting, called=True)
        return True

    def ask_again(self) -> None:
        """Open what waits, also what was put off."""
        self._desk.call()
        self.look()

    def _waiting(self) -> list[str]:
        """What waits for a person; answers on their way do not count."""
        actions = self._state.actions
        return [name for name in self._state.waiting if _key(actions[name]) not in self._answered]

    def _show(self, action_id: str, waiting: list[str], *, called: bool) -> None:
        item = self._state.actions[action_id]
        if item.asks:
            self._ask(item, called)
            return
        from workbench.tui.screens.approval import ApprovalScreen
        from workbench.view.approval.questions import Asked
        from workbench.view.approval.rule_trial import try_rule

        shown = _key(item)
        asked = Asked(
            item,
            waiting.index(action_id) + 1,
            len(waiting),
            self._state.mode,
            [self._state.actions[name] for name in waiting],
            self._proposals.get(shown[:2]),
        )
        screen = ApprovalScreen(
            asked,
            changed=[key[0] for key, made in self._proposals.items() if made.is_changed and key[0] != action_id],
            typed=self._type,
            tried=lambda rule: try_rule(rule, self._state),
        )
        self._proposals = {key: made for key, made in self._proposals.items() if key[0] in waiting}
        self._proposals[shown[:2]] = screen.proposal
        self._open = (shown, screen)
        self._screen.app.push_screen(screen, lambda result: self._closed(shown, result))

    def _type(self, text: str) -> None:
        """Letters that were meant for the prompt when the question came up."""
        self._screen.query_one(Prompt).type_in(text)

    def _ask(self, item: ActionItem, called: bool) -> None:
        """Show a question of the agent's; keys that it does not take yet are the prompt's, unless it was called for."""
        from workbench.tui.screens.answer import AnswerScreen

        pass_on = None if called else self._pass_on
        screen = AnswerScreen(item, draft=self._drafts.get(item.action_id, ""), pass_on=pass_on)
        shown = _key(item)
        self._open = (shown, screen)
        self._screen.app.push_screen(screen, lambda result: self._closed(shown, result))

    def _pass_on(self, event: events.Key | events.Paste) -> None:
        prompt = self._screen.query_one(Prompt)
        if isinstance(event, events.Key):
            prompt.post_message(events.Key(event.key, event.character))
        else:
            prompt.post_message(events.Paste(event.text))

    def _closed(self, shown: _Shown, result: Outcome | None) -> None:
        from workbench.view.approval.questions import All, Decision, Later, Turn

        self._open = None
        if isinstance(result, Turn):
            if self.open(result.action_id):
                return
        elif isinstance(result, All):
            for one in result.shown:
                if _key(self._state.actions[one[0]]) == one:  # what was asked anew since stays asked
                    self._take(one, Decision("approved"))
        else:
            self._take(shown, result or Later())
        self._screen.call_after_refresh(self.look)

    def _take(self, shown: _Shown, result: Decision | Always | Answer | Later) -> None:
        """Carry the answer to the link, if the action still waits for one."""
        from workbench.view.approval.questions import Answer, Later

        action_id, fingerprint, _ = shown
        if action_id not in self._state.waiting:
            return
        if isinstance(result, Later):
            self._leave_open(action_id, result)
            return
        self._answered.add(shown)
        self._desk.answered(action_id)
        if isinstance(result, Answer):
            self._drafts[action_id] = result.text
        self._link.send(result.command(action_id, fingerprint))

    def _leave_open(self, action_id: str, later: Later) -> None:
        self._drafts[action_id] = later.draft
        if not later.aside:
            self._desk.put_off(self._state.waiting)

    def _close_settled(self, waiting: list[str]) -> None:
        """Somebody else answered, the run was stopped, or the action is asked about anew."""
        if self._open is None:
            return
        shown, screen = self._open
        if shown[0] not in waiting or _key(self._state.actions[shown[0]]) != shown:
            screen.withdraw()

    def _tell_of_others(self, waiting: list[str]) -> None:
        """More or fewer wait beside the open question than when it opened."""
        if self._open is not None and self._open[0][0] in waiting:
            self._open[1].stands_beside([self._state.actions[name] for name in waiting])

    def _forget_refused(self, changed: Changed | None) -> None:
        """An answer that was refused did not count: the question comes back."""
        added = changed.added if changed is not None else []
        if any(isinstance(item, NoticeItem) and item.refuses for item in added):
            self._answered.clear()


def _key(item: ActionItem) -> _Shown:
    return item.action_id, item.fingerprint, item.asked
