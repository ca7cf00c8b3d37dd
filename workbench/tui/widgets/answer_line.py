"""The input line for a free-text answer to a question; the card sees its keys first."""

from __future__ import annotations

from collections.abc import Callable

from textual import events
from textual.widgets import Input

from workbench.text import visible


class AnswerLine(Input):
    """Accepts the keys that the card lets through; a paste never submits."""

    def __init__(self, takes: Callable[[events.Key | events.Paste], bool], placeholder: str) -> None:
        super().__init__(id="answer", placeholder=placeholder, select_on_focus=False)
        self._takes = takes

    async def on_key(self, event: events.Key) -> None:
        """Drop a key that the card has handled; run the line's own keys at once, so that no later letter gets ahead."""
        if not self._takes(event):
            event.prevent_default()
            event.stop()
            return
        active = None if event.is_printable else self.screen.active_bindings.get(event.key)
        if active is not None and active.node is self and active.enabled:
            event.prevent_default()
            event.stop()
            await self.app.run_action(active.binding.action, self)

    def on_paste(self, event: events.Paste) -> None:
        """Insert the paste as one line, with hidden characters made visible."""
        event.prevent_default()
        event.stop()
        if self._takes(event):
            self.insert_text_at_cursor(visible(" ".join(event.text.split()), lines=False))
