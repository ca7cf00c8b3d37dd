"""What is typed or pasted behind a key that opens a screen, or moves the keys, goes where that key leads."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from textual import events
from textual.app import App
from textual.message_pump import MessagePump
from textual.screen import Screen
from textual.widget import AwaitMount
from textual.widgets import Input, TextArea

from workbench.tui import pressed
from workbench.tui.widgets.prompt import Prompt

_ROUNDS: Final = 2
"""From the widget with the keys up to the app: the key itself, then what its action told other widgets."""
_PATIENCE: Final = 1.0
"""Seconds until keys go on although the widget that had them is gone."""


class EarlyInput(App[int]):
    """Holds keys and pastes while a screen opens, or an earlier key is on its way, and gives them in their order."""

    _opening: Screen[Any] | None = None
    _underway: events.Key | None = None
    """A key that may move the keys elsewhere, until all that it sets off is done."""
    _held: tuple[events.Key | events.Paste, ...] = ()

    def push_screen(self, *given: Any, **more: Any) -> Any:
        """As ever; keys wait until the screen was drawn once."""
        done = super().push_screen(*given, **more)
        self._hold_for(self.screen)
        return done

    def _init_mode(self, mode: str) -> AwaitMount:
        """As ever; so do those that come before there is a first screen."""
        done = super()._init_mode(mode)
        self._hold_for(self.screen)
        return done

    def _hold_for(self, screen: Screen[Any]) -> None:
        self._opening = screen
        screen.call_after_refresh(self.call_later, self._give, screen)

    def pop_screen(self) -> Any:
        """As ever; what was held for a screen that closed before it was drawn goes to the one below."""
        done = super().pop_screen()
        if self._opening not in self.screen_stack:
            self.call_later(self._give, self._opening)
        return done

    async def on_event(self, event: events.Event) -> None:
        """Hold what comes too early."""
        if isinstance(event, events.Key):
            pressed.note()
        if not isinstance(event, events.Key | events.Paste) or event.is_forwarded:
            await super().on_event(event)
        elif self._underway is not None or (self._opening is not None and self._opening is self.screen):
            self._held = (*self._held, event)
        else:
            await self._give(self._opening)
            await self._pass_on(event)

    async def _pass_on(self, event: events.Key | events.Paste) -> None:
        """To the widget that has the keys; what comes next waits where this one may take them elsewhere."""
        if isinstance(event, events.Key) and self._may_lead_elsewhere(event):
            self._underway = event
            await super().on_event(event)
            self.set_timer(_PATIENCE, partial(self._arrived, event))
            self._wait_behind(event, self.focused or self.screen, _ROUNDS)
        else:
            await super().on_event(event)

    def _may_lead_elsewhere(self, event: events.Key) -> bool:
        """Whether a binding waits for it, also one by which one writes: the app runs it, behind letters that follow.

        The prompt runs its own at once.
        """
        focused = self.focused
        if event.is_printable and isinstance(focused, Input | TextArea):
            return False
        for owner, bindings in self.screen._modal_binding_chain:
            if event.key in bindings.key_to_bindings:
                return owner is not focused or not isinstance(focused, Prompt)
        return False

    def _wait_behind(self, key: events.Key, at: MessagePump, rounds: int) -> None:
        """Behind all that waits there, and then one step up."""
        if not at.call_later(self._climb, key, at, rounds):
            self._climb(key, at, rounds)

    def _climb(self, key: events.Key, at: MessagePump, rounds: int) -> None:
        """One step up; from the top once more, then it is done."""
        parent = at._parent
        if parent is not None:
            self._wait_behind(key, parent, rounds)
        elif rounds > 1:
            self._wait_behind(key, self.focused or self.screen, rounds - 1)
        else:
            self.call_later(self._arrived, key)

    async def _arrived(self, key: events.Key) -> None:
        """Go on with what was held."""
        if key is self._underway:
            self._underway = None
            if self._opening is None or self._opening is not self.screen:
                await self._give(self._opening)

    async def _give(self, opened: Screen[Any] | None) -> None:
        """The screen is there, or is gone again: what was held comes first. One of these keys may open another."""
        if opened is not self._opening:
            return
        self._opening, held, self._held = None, self._held, ()
        for event in held:
            await self.on_event(event)
