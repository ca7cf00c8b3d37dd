"""Where the person writes: several lines, history at the edges, and a paste that never sends."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import TextArea

from workbench.text import visible


class Prompt(TextArea):
    """A text area that grows with its text; enter sends."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "Send", id="send"),
        Binding("ctrl+j,shift+enter,alt+enter", "newline", "New line", id="newline"),
        Binding("pageup", "page(-1)", "Page up", show=False, id="page-up"),
        Binding("pagedown", "page(1)", "Page down", show=False, id="page-down"),
    ]

    class Submitted(Message):
        """The person sent the text; the prompt is empty again, and `give_back` undoes that."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self) -> None:
        super().__init__(
            id="prompt",
            tab_behavior="focus",
            highlight_cursor_line=False,
            placeholder=Content("Ask anything   / commands"),
        )
        self._sent: list[str] = []
        self._at = 0
        self._draft = ""

    def recall_from(self, texts: Iterable[str]) -> None:
        """Begin the history with what was sent before, if it is still empty."""
        if not self._sent:
            for text in texts:
                self.remember(text)

    def remember(self, text: str) -> None:
        """Add one message to the history that up and down walk through."""
        if text.strip() and self._sent[-1:] != [text]:
            self._sent.append(text)
        self._at = len(self._sent)

    def give_back(self, text: str) -> None:
        """Text that could not be taken stands here again, before what was typed since."""
        self.load_text(f"{text}\n{self.text}".strip())
        self.move_cursor(self.document.end)

    def type_in(self, text: str) -> None:
        """Text typed or pasted while something else had the keys, as if it had been typed here."""
        self._replace_via_keyboard(_pasted(text), *self.selection)
        self.focus()

    def action_submit(self) -> None:
        """Send what is written and start anew, before the next letter comes; blanks alone are nothing."""
        text = self.text
        if text.strip():
            self.remember(text)
            self.load_text("")
            self.post_message(self.Submitted(text))

    def action_newline(self) -> None:
        """Start a new line at the cursor."""
        self.insert("\n")
        self.scroll_cursor_visible()

    def action_cursor_up(self, select: bool = False) -> None:
        """Up a line; in the first one, back in the history."""
        if select or self.navigator.is_first_wrapped_line(self.cursor_location) is False or not self._recall(-1):
            super().action_cursor_up(select)

    def action_cursor_down(self, select: bool = False) -> None:
        """Down a line; in the last one, forth in the history."""
        if select or self.navigator.is_last_wrapped_line(self.cursor_location) is False or not self._recall(1):
            super().action_cursor_down(select)

    async def action_page(self, pages: int) -> None:
        """A page up or down in a long text; otherwise in the conversation."""
        if self.max_scroll_y > 0:
            (self.action_cursor_page_up if pages < 0 else self.action_cursor_page_down)()
        else:
            await self.run_action(f"screen.page({pages})")

    def _recall(self, step: int) -> bool:
        target = self._at + step
        if not 0 <= target <= len(self._sent):
            return False
        if self._at == len(self._sent):
            self._draft = self.text
        self._at = target
        self.load_text(self._sent[target] if target < len(self._sent) else self._draft)
        self.move_cursor(self.document.end)
        return True

    async def _on_key(self, event: events.Key) -> None:
        """Run the prompt's own keys here: by way of the app they would be overtaken by letters typed after them."""
        active = None if event.is_printable else self.screen.active_bindings.get(event.key)
        if active is not None and active.node is self and active.enabled:
            event.prevent_default()
            event.stop()
            await self.app.run_action(active.binding.action, self)

    async def _on_paste(self, event: events.Paste) -> None:
        """Insert the paste as text, with what could hide in it made visible."""
        event.prevent_default()
        event.stop()
        self._replace_via_keyboard(_pasted(event.text), *self.selection)
        self.scroll_cursor_visible()


def _pasted(text: str) -> str:
    return visible(text.replace("\r\n", "\n").replace("\r", "\n"))
