"""The line of the diff viewer that takes words: what to search, or what to say to a line."""

from __future__ import annotations

from typing import ClassVar, Literal

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Input

Asked = Literal["search", "comment"]


class ReviewLine(Input):
    """Hidden until it is asked for; enter hands over what was written, escape leaves without."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "hand_over", "Keep", id="viewer.line-keep"),
        Binding("escape", "leave", "Leave", id="viewer.line-leave"),
        Binding("tab", "width", "All files or this one", id="viewer.search-width"),
    ]

    class Written(Message):
        """Enter: the words, and what they are for."""

        def __init__(self, asked: Asked, text: str, whole: bool) -> None:
            super().__init__()
            self.asked = asked
            self.text = text
            self.whole = whole
            """Search in all files, not in the one shown alone."""

    class Left(Message):
        """The person goes back to the diff."""

    def __init__(self) -> None:
        super().__init__(select_on_focus=False, id="viewer-line")
        self.display = False
        self.asked: Asked = "search"
        """What the words are for."""
        self._whole = True

    def ask(self, asked: Asked, title: str = "", text: str = "") -> None:
        """Take words for this; `text` is what stands there already."""
        self.asked = asked
        self.value = text
        self.cursor_position = len(text)
        self.placeholder = title
        self._say()
        self.display = True
        self.focus()

    def action_width(self) -> None:
        """All files, or the one that is shown; a comment has no such choice."""
        if self.asked == "search":
            self._whole = not self._whole
            self._say()

    def _say(self) -> None:
        if self.asked == "search":
            self.placeholder = f"search in {'all files' if self._whole else 'this file'} · tab changes that"

    def action_hand_over(self) -> None:
        """Done."""
        self.display = False
        self.post_message(self.Written(self.asked, self.value, self._whole))

    def action_leave(self) -> None:
        """Nothing of it counts."""
        self.display = False
        self.post_message(self.Left())
