"""A text area that takes pastes: text with nothing hidden in it, large ones folded, images of the clipboard by name.

The prompt is one.
"""

from __future__ import annotations

import os
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.widgets import TextArea

from workbench.client.threads import in_daemon
from workbench.config.locations import Locations
from workbench.errors import WorkbenchError
from workbench.text import visible
from workbench.tui.terminal.clipboard import can_read_images, store_image
from workbench.view.prompt.attachments import Pastes
from workbench.view.prompt.completion import mention_of


class PastingArea(TextArea):
    """What is pasted stands at the cursor and never sends."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+v", "paste", "Paste an image, or what was copied here", id="paste", show=False),
    ]
    pastes: Pastes

    def type_in(self, text: str) -> None:
        """Text typed or pasted while something else had the keys, as if it had been typed here."""
        self.type_over(*self.selection, self.pastes.fold(text))
        self.focus()

    def type_over(self, start: tuple[int, int], end: tuple[int, int], text: str) -> None:
        """Put text in place of a range, the cursor behind it, as typing does."""
        if not self.read_only:
            self.replace(text, start, end, maintain_selection_offset=False)

    def action_paste(self) -> None:
        """The image on the system's clipboard; without one what was copied here."""
        if self.app.clipboard and not can_read_images(os.environ):
            super().action_paste()
        else:
            self.paste_image(or_text=True)

    def paste_image(self, *, or_text: bool = False) -> None:
        """Name the image on the system's clipboard once a thread has it, or say why there is none."""
        self.run_worker(self._paste(or_text), group="paste", exclusive=True)

    async def _paste(self, or_text: bool) -> None:
        folder = Locations.from_environment().state / "pasted"
        try:
            image = await in_daemon(lambda: store_image(folder, os.environ))
        except WorkbenchError as error:
            if or_text and self.app.clipboard:
                super().action_paste()
            else:
                self.app.notify(visible(str(error)), severity="warning", markup=False)
            return
        self._put(f"{mention_of(str(image))} ", apart=True)

    async def on_paste(self, event: events.Paste) -> None:
        """Insert the paste as text, with what could hide in it made visible."""
        event.prevent_default()
        event.stop()
        folded = self.pastes.fold(event.text)
        self._put(folded, apart=folded.startswith("@") and not event.text.startswith("@"))

    def _put(self, text: str, *, apart: bool) -> None:
        """In place of what is selected; a mention stands apart from the word before it, or it would be none."""
        row, column = min(self.selection)
        before = self.document.get_line(row)[:column]
        gap = " " if apart and before and not before[-1].isspace() else ""
        self.type_over(*self.selection, gap + text)
        self.scroll_cursor_visible()


class ForeignText(PastingArea):
    """A text area that knows whose words it holds; what is not the person's own is never a command."""

    is_foreign = False
    """Whether something of what stands here came from a server."""

    _sent: tuple[str, ...] = ()
    """The servers' texts that were sent from here."""

    def bring(self, text: str) -> None:
        """A server's text, to be read from its beginning."""
        self.is_foreign = True
        self.load_text(f"{text}\n{self.text}".strip())
        self.scroll_home(animate=False)

    def load_text(self, text: str) -> None:
        """Another text: a server's where what stood here goes on, or where one that was sent is back."""
        self.is_foreign = bool(text) and (self.is_foreign or self._holds_sent(text))
        super().load_text(text)

    def note_sent(self, text: str) -> None:
        """The text is on its way; should it come back, it is still a server's."""
        if self.is_foreign:
            self._sent = (*self._sent, text.strip())

    def update_suggestion(self) -> None:
        """In an empty prompt the person begins anew, and no undo brings the server's words back."""
        if self.is_foreign and not self.text:
            self.is_foreign = False
            self.history.clear()

    @property
    def can_leave(self) -> bool:
        """Whether another text may stand here for a while: what comes back is known again, or the person's own."""
        return not self.is_foreign or self._holds_sent(self.text)

    def _holds_sent(self, text: str) -> bool:
        return any(f"\n{each}\n" in f"\n{text.strip()}\n" for each in self._sent)
