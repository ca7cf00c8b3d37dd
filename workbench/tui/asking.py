"""Opens the questions of the main screen and carries the answers to the link; when one may open, the desk decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.tui.changed import Changed
from workbench.tui.decision import Decision
from workbench.tui.link import Link
from workbench.tui.questions import QuestionDesk
from workbench.tui.state import ActionItem, NoticeItem, SessionState
from workbench.tui.widgets.prompt import Prompt

if TYPE_CHECKING:
    from workbench.tui.screens.approval import ApprovalScreen
    from workbench.tui.screens.main import MainScreen


class Asking:
    """One per main screen; at most one question is open."""

    def __init__(self, screen: MainScreen, link: Link, state: SessionState) -> None:
        self._screen = screen
        self._link = link
        self._state = state
        self._desk = QuestionDesk()
        self._answered: set[tuple[str, str]] = set()
        self._open: tuple[tuple[str, str], ApprovalScreen] | None = None

    def look(self, changed: Changed | None = None) -> None:
        """Something changed: open a question, close one that is settled, or ring."""
        self._forget_refused(changed)
        waiting = self._waiting()
        self._close_settled(waiting)
        app = self._screen.app
        is_covered = app.screen is not self._screen
        text = self._screen.query_one(Prompt).text
        action_id = self._desk.next_to_open(waiting, prompt_text=text, is_covered=is_covered)
        if action_id is not None:
            self._show(action_id, waiting)
        unseen = self._open is None or not app.app_focus
        if waiting and unseen and self._desk.rings(waiting):
            app.bell()

    def open(self, action_id: str) -> bool:
        """Ask about this action now, if it waits; says whether it does."""
        waiting = self._waiting()
        if action_id not in waiting or self._open is not None:
            return False
        self._show(action_id, waiting)
        return True

    def ask_again(self) -> None:
        """Open what waits, also what was put off."""
        self._desk.call()
        self.look()

    def _waiting(self) -> list[str]:
        """What waits for a person; answers on their way do not count."""
        actions = self._state.actions
        return [name for name in self._state.waiting if _key(actions[name]) not in self._answered]

    def _show(self, action_id: str, waiting: list[str]) -> None:
        from workbench.tui.screens.approval import ApprovalScreen

        item = self._state.actions[action_id]
        place = waiting.index(action_id) + 1
        screen = ApprovalScreen(item, place, len(waiting), self._state.mode, typed=self._type)
        shown = _key(item)
        self._open = (shown, screen)
        self._screen.app.push_screen(screen, lambda decision: self._closed(shown, decision))

    def _type(self, text: str) -> None:
        """Letters that were meant for the prompt when the question came up."""
        self._screen.query_one(Prompt).type_in(text)

    def _closed(self, shown: tuple[str, str], decision: Decision | None) -> None:
        self._open = None
        action_id, fingerprint = shown
        if action_id not in self._state.waiting:
            return
        if decision is None:
            self._desk.put_off(self._state.waiting)
        else:
            self._answered.add(shown)
            self._desk.answered(action_id)
            self._link.decide(action_id, decision.verdict, fingerprint, decision.note)
        self._screen.call_after_refresh(self.look)

    def _close_settled(self, waiting: list[str]) -> None:
        """Somebody else answered, the run was stopped, or the action is asked about anew."""
        if self._open is None:
            return
        shown, screen = self._open
        action_id, _ = shown
        if action_id not in waiting or _key(self._state.actions[action_id]) != shown:
            screen.withdraw()

    def _forget_refused(self, changed: Changed | None) -> None:
        """An answer that was refused did not count: the question comes back."""
        added = changed.added if changed is not None else []
        if any(isinstance(item, NoticeItem) and not item.seq for item in added):
            self._answered.clear()


def _key(item: ActionItem) -> tuple[str, str]:
    return item.action_id, item.fingerprint
