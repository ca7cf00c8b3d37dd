"""An editor inside a question, for the new text of a hunk, a command or arguments. Used by QuestionBox."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import TextArea

from workbench.text import visible
from workbench.tui.widgets.strips import css_beside


class InlineEditor(TextArea):
    """Edits a text; its keys save or discard the edit and never answer the question."""

    DEFAULT_CSS = css_beside(__file__)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "keep", "Keep the text", priority=True, id="place.keep"),
        Binding("escape", "discard", "Discard it", priority=True, id="place.discard"),
    ]

    class Saved(Message):
        """Posted when the user saves the text."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Discarded(Message):
        """Posted when the user discards the edit."""

    def __init__(self) -> None:
        super().__init__(id="place", tab_behavior="indent", highlight_cursor_line=False)

    def open(self, text: str, title: str) -> None:
        """Show this text from its top, and take the focus."""
        self.indent_type = "tabs" if "\t" in text else "spaces"
        self.border_title = Content(visible(title, lines=False))
        self.border_subtitle = ""
        self.load_text(text)
        self.display = True
        self.screen.set_focus(self)  # at once, because the next key is text

    def complain(self, why: str) -> None:
        """Show why the text cannot be used."""
        self.border_subtitle = Content(visible(why, lines=False))

    def action_keep(self) -> None:
        """Post the text once letters that are still pending are inserted, because this key is handled before them."""
        self.call_later(lambda: self.post_message(self.Saved(self.text)))

    def action_discard(self) -> None:
        """Discard the edit."""
        self.post_message(self.Discarded())


def can_edit(text: str) -> bool:
    """Return whether the editor shows every character of the text and returns it unchanged."""
    body = text.replace("\r\n", "\n")
    is_even = "\r\n" not in text or text.count("\n") == text.count("\r\n")
    return is_even and all(char.isprintable() or char in "\n\t" for char in body)
