"""Opens the question about a finished plan; `plan_approval` has the screen, which the first frame does not need."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.screen import Screen

from workbench.client.client import Client
from workbench.protocol.commands import SendMessage
from workbench.tui.screens.mode_switch import ModeSwitch
from workbench.tui.widgets.dock_space import DockSpace
from workbench.tui.widgets.prompt import Prompt
from workbench.view.approval.plan import RUN_PLAN, plan_choices, plan_ready
from workbench.view.notices import read_only_line
from workbench.view.state import Changed, SessionState

if TYPE_CHECKING:
    from workbench.tui.screens.plan_approval import PlanScreen


class PlanOpener:
    """Opens the question about a plan once, when it becomes ready, and again when the user asks for it."""

    def __init__(self, screen: Screen[None], client: Client, state: SessionState, modes: ModeSwitch) -> None:
        self._screen = screen
        self._client = client
        self._state = state
        self._modes = modes
        self._space = DockSpace(screen)
        self._asked = 0
        """The plan about which the user was asked last."""
        self._open: PlanScreen | None = None

    def refresh(self, changed: Changed | None) -> None:
        """Close the question if its plan is no longer current; open it if a new plan is ready and the prompt is empty.

        Without `changed`, the whole session was loaded; a plan in it opens the question only on request.
        """
        ready = plan_ready(self._state)
        if self._open is not None and ready != self._asked:
            self._open.withdraw()
        if changed is None:
            self._asked = ready
        elif ready not in (0, self._asked) and not self._screen.query_one(Prompt).text:
            self.open()

    def open(self) -> bool:
        """Open the question; return False if no plan is ready, or this screen is covered or read-only."""
        ready, app = plan_ready(self._state), self._screen.app
        is_free = self._open is None and app.screen is self._screen and self._state.has_control
        if not ready or not is_free:
            return False
        from workbench.tui.screens.plan_approval import PlanScreen

        self._asked = ready
        self._open = PlanScreen(
            plan_choices(self._state),
            lambda text: self._screen.query_one(Prompt).type_in(text),
            reserve_rows=self._space.reserve,
        )
        self._open.is_refused = self._is_refused
        app.push_screen(self._open, self._closed)
        return True

    def _is_refused(self, mode: str) -> bool:
        """Return whether the plan cannot be approved here, because another screen controls the session; say so."""
        is_refused = bool(mode) and not self._state.has_control
        if is_refused:
            self._screen.notify(read_only_line(self._state), severity="warning", markup=False)
        return is_refused

    def _closed(self, mode: str | None) -> None:
        self._open = None
        self._space.release()
        if mode and plan_ready(self._state) == self._asked:
            self._modes.choose(mode)
            self._client.send(SendMessage(text=RUN_PLAN))
