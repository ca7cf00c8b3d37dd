"""Text in the prompt that a server wrote: known as such until the person begins anew. The part of `Prompt` for that."""

from __future__ import annotations

from workbench.tui.widgets.pasting_area import PastingArea


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
