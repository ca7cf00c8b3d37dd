"""What is typed or pasted behind a key that opens a screen is that screen's, also before it is there."""

from __future__ import annotations

from typing import Any

from textual import events
from textual.app import App
from textual.screen import Screen

from workbench.tui import pressed


class EarlyInput(App[int]):
    """Holds keys and pastes while a screen opens and nothing on it has the focus yet, and gives them in their order."""

    _opening: Screen[Any] | None = None
    _held: tuple[events.Key | events.Paste, ...] = ()

    def push_screen(self, *given: Any, **more: Any) -> Any:
        """As ever; keys wait until the screen was drawn once."""
        had_one = bool(self._screen_stack)
        done = super().push_screen(*given, **more)
        if had_one:
            self._opening = screen = self.screen
            screen.call_after_refresh(self.call_later, self._give, screen)
        return done

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
        elif self._opening is not None and self._opening is self.screen:
            self._held = (*self._held, event)
        else:
            await self._give(self._opening)
            await super().on_event(event)

    async def _give(self, opened: Screen[Any] | None) -> None:
        """The screen is there, or is gone again: what was held comes first. One of these keys may open another."""
        if opened is not self._opening:
            return
        self._opening, held, self._held = None, self._held, ()
        for event in held:
            await self.on_event(event)
