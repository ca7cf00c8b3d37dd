"""Changes the approval mode of a session: a key steps through the modes, a command chooses one by name.

A step takes effect once no other has followed for `DEBOUNCE_SECONDS`, so a mode that is only passed through never takes
effect. The mode that never asks is not among the steps: it must be chosen by name and confirmed.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, cast

from textual.screen import Screen

from workbench.client.client import Client
from workbench.config.modes import MODE_CYCLE, MODES, NEVER
from workbench.protocol.commands import ChangeSettings
from workbench.text import visible
from workbench.tui.widgets.prompt import Prompt
from workbench.tui.widgets.status_line import StatusLine
from workbench.view.state import SessionState

if TYPE_CHECKING:
    from textual.timer import Timer

    from workbench.protocol.risk import Mode

DEBOUNCE_SECONDS: Final = 0.8
"""Seconds without another press after which a mode takes effect."""
_STALL: Final = 0.3
"""Seconds by which the timer is late if the process was stopped; then another press may still be unread."""


class ModeSwitch:
    """Switches the mode of one session; the status line of `screen` shows `state.next_mode` until it takes effect."""

    def __init__(self, screen: Screen[None], client: Client, state: SessionState) -> None:
        self._screen = screen
        self._client = client
        self._state = state
        self._timer: Timer | None = None
        self._pressed_at = 0.0

    def request(self, mode: str) -> None:
        """Switch to the mode of this name, or step to the next one if it is empty."""
        if mode and mode not in MODES:
            text = f"there is no mode {mode}; choose one of {', '.join(MODES)}"
            self._screen.notify(visible(text), severity="warning", markup=False)
        elif mode:
            self.choose(mode)
        else:
            self.step()

    def step(self) -> None:
        """Select the next mode of the cycle; it takes effect after DEBOUNCE_SECONDS without another step."""
        now = self._state.next_mode or self._state.mode
        at = MODE_CYCLE.index(now) + 1 if now in MODE_CYCLE else 0
        self._schedule(MODE_CYCLE[at % len(MODE_CYCLE)])

    def choose(self, mode: str) -> None:
        """Switch to this mode at once; ask for confirmation first if it is the mode that never asks."""
        self._schedule("")
        if mode == NEVER:
            from workbench.tui.screens.confirmations import NeverAskScreen

            self._screen.app.push_screen(NeverAskScreen(self._type_in_prompt), self._confirmed)
        else:
            self._client.send(ChangeSettings(mode=cast("Mode", mode)))

    def _type_in_prompt(self, text: str) -> None:
        self._screen.query_one(Prompt).type_in(text)

    def _confirmed(self, is_confirmed: bool | None) -> None:
        if is_confirmed:
            self._client.send(ChangeSettings(mode="never", confirmed=True))

    def _schedule(self, mode: str) -> None:
        """Let this mode take effect after `DEBOUNCE_SECONDS`; an empty name only cancels the pending mode."""
        if self._timer is not None:
            self._timer.stop()
        self._pressed_at = time.monotonic()
        self._timer = self._screen.set_timer(DEBOUNCE_SECONDS, self._apply) if mode else None
        self._show(mode)

    def _apply(self) -> None:
        mode = self._state.next_mode
        if time.monotonic() - self._pressed_at > DEBOUNCE_SECONDS + _STALL:
            self._schedule(mode)
            return
        self._show("")
        if mode and mode != self._state.mode:
            self._client.send(ChangeSettings(mode=cast("Mode", mode)))

    def _show(self, mode: str) -> None:
        self._state.next_mode = mode
        self._screen.query_one(StatusLine).show()
