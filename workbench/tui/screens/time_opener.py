"""Opens the time view, and handles the other requests about earlier states of the session."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.screen import Screen

from workbench.tui.key_names import with_keys
from workbench.tui.messages import PastRequested, TimeRequested
from workbench.tui.widgets.composer import Composer
from workbench.view.app_session import AppSession
from workbench.view.state import SessionState

if TYPE_CHECKING:
    from workbench.tui.screens.rewind_opener import RewindOpener


class TimeOpener:
    """Opens the time view above the main screen, which continues to follow the session."""

    def __init__(
        self,
        screen: Screen[None],
        state: SessionState,
        session: AppSession,
        rewinds: RewindOpener,
        composer: Composer,
        *,
        answer: Callable[[], None],
    ) -> None:
        """`answer` opens the next waiting question."""
        self._screen = screen
        self._state = state
        self._session = session
        self.rewinds = rewinds
        self.composer = composer
        self.answer = answer

    def handle(self, message: PastRequested) -> None:
        """Do what a command or a key in a panel asks for."""
        if isinstance(message, TimeRequested):
            self._open(message)
        else:
            self.rewinds.handle(message)

    def _open(self, message: TimeRequested) -> None:
        from workbench.view.moments import end_of_row

        state, seq = self._state, None
        if message.item is not None:
            seq = end_of_row(state, message.item)
        if not state.session_id or state.last_seq < 1:
            self._screen.notify("There is nothing to look back at yet", timeout=3)
        elif seq is None and message.by > 0:
            words = "This is now; {timeline.back=left_square_bracket} goes back in time"
            self._screen.notify(with_keys(self._screen.app, words), timeout=3)
        elif self._screen.is_current:
            self._push(max(1, state.last_seq + message.by if seq is None else seq))

    def _push(self, seq: int) -> None:
        from workbench.tui.screens.time_view import TimeScreen
        from workbench.view.moments import Moments

        path = self._session.file_of(self._state.session_id)
        self._screen.app.push_screen(TimeScreen(self, self._state, self._session, Moments(path), seq))
