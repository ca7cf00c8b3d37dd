"""The input line of the diff viewer, for a search or a comment."""

from __future__ import annotations

from typing import ClassVar, Literal

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Input

Asked = Literal["search", "comment"]


class ViewerInput(Input):
    """The input line, hidden until `ask` is called; enter posts the text, escape discards it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "hand_over", "Keep", id="viewer.line-keep"),
        Binding("escape", "leave", "Leave", id="viewer.line-leave"),
        Binding("tab", "width", "All files or this one", id="viewer.search-width"),
    ]

    class Written(Message):
        """Posted on enter: the text and its purpose."""

        def __init__(self, asked: Asked, text: str, whole: bool) -> None:
            super().__init__()
            self.asked = asked
            self.text = text
            self.whole = whole
            """Whether to search in all files rather than only in the current one."""

    class Cancelled(Message):
        """Posted when the user goes back to the diff."""

    def __init__(self) -> None:
        super().__init__(select_on_focus=False, id="viewer-line")
        self.display = False
        self.asked: Asked = "search"
        """The purpose of the text."""
        self._whole = True

    def ask(self, asked: Asked, title: str = "", text: str = "") -> None:
        """Open the input line for a search or a comment, with `text` already in it."""
        self.asked = asked
        self.value = text
        self.cursor_position = len(text)
        self.placeholder = title
        self._show_scope()
        self.display = True
        self.focus()

    def action_width(self) -> None:
        """Switch a search between all files and the current one; do nothing for a comment."""
        if self.asked == "search":
            self._whole = not self._whole
            self._show_scope()

    def _show_scope(self) -> None:
        if self.asked == "search":
            self.placeholder = f"Search in {'all files' if self._whole else 'this file'} · Tab changes that"

    def action_hand_over(self) -> None:
        """Hide the line and post the text."""
        self.display = False
        self.post_message(self.Written(self.asked, self.value, self._whole))

    def action_leave(self) -> None:
        """Hide the line and discard the text."""
        self.display = False
        self.post_message(self.Cancelled())
