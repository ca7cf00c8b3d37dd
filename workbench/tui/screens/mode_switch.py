"""Changes the mode of a session from the screen: one key steps through the modes, a name chooses one of them.

A step counts once no other followed for `SETTLE` seconds, so that no mode on the way to another is ever in force. The
mode that never asks is not among the steps: it is chosen by its name, and confirmed.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, cast

from workbench.config.modes import MODE_CYCLE, NEVER
from workbench.protocol.commands import ChangeSettings
from workbench.tui.widgets.prompt import Prompt
from workbench.tui.widgets.status_line import StatusLine

if TYPE_CHECKING:
    from textual.timer import Timer

    from workbench.protocol.risk import Mode
    from workbench.tui.screens.main import MainScreen

SETTLE: Final = 0.8
"""Seconds without another press after which a mode counts."""
_STALL: Final = 0.3
"""Seconds that the pause may be late before the screen must have stood still: another press may wait to be heard."""


class ModeSwitch:
    """The mode of one main screen's session; `state.next_mode` is shown until it counts."""

    def __init__(self, screen: MainScreen) -> None:
        self._screen = screen
        self._timer: Timer | None = None
        self._since = 0.0

    def step(self) -> None:
        """To the next mode of the cycle, a moment from now."""
        state = self._screen.state
        now = state.next_mode or state.mode
        at = MODE_CYCLE.index(now) + 1 if now in MODE_CYCLE else 0
        self._wait_for(MODE_CYCLE[at % len(MODE_CYCLE)])

    def choose(self, mode: str) -> None:
        """To this mode at once; the one that never asks is confirmed first."""
        self._wait_for("")
        if mode == NEVER:
            from workbench.tui.screens.confirmations import NeverAskScreen

            self._screen.app.push_screen(NeverAskScreen(self._type), self._confirmed)
        else:
            self._screen.link.send(ChangeSettings(mode=cast("Mode", mode)))

    def _type(self, text: str) -> None:
        """Put letters into the prompt that were meant for it."""
        self._screen.query_one(Prompt).type_in(text)

    def _confirmed(self, confirmed: bool | None) -> None:
        if confirmed:
            self._screen.link.send(ChangeSettings(mode="never", confirmed=True))

    def _wait_for(self, mode: str) -> None:
        """Have this mode count after the pause; an empty one drops what waits."""
        if self._timer is not None:
            self._timer.stop()
        self._since = time.monotonic()
        self._timer = self._screen.set_timer(SETTLE, self._settle) if mode else None
        self._show(mode)

    def _settle(self) -> None:
        mode = self._screen.state.next_mode
        if time.monotonic() - self._since > SETTLE + _STALL:
            self._wait_for(mode)
            return
        self._show("")
        if mode and mode != self._screen.state.mode:
            self._screen.link.send(ChangeSettings(mode=cast("Mode", mode)))

    def _show(self, mode: str) -> None:
        self._screen.state.next_mode = mode
        self._screen.query_one(StatusLine).show()
