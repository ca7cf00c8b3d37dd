"""What one can stand on in the conversation: a message or a card, to be copied, or looked up on the timeline."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget

from workbench.tui.messages import RowWanted
from workbench.view.state import Item

Copy = tuple[str, str]
"""What it is, in words for the person, and its text."""


class Copying(Widget, can_focus=True):
    """`y` copies what it is about, `Y` what else there is: a code block with each press, or an output."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "copy", "Copy", id="conversation.copy"),
        Binding("Y", "copy_more", "Copy code or output", id="conversation.copy-more"),
        Binding("g", "row", "On the timeline", id="conversation.row"),
    ]

    item: Item
    """What it shows."""
    _next_copy = 0

    @abstractmethod
    def copies(self) -> Copy:
        """What `y` copies."""

    def more_copies(self) -> list[Copy]:
        """What `Y` copies, one after the other."""
        return []

    def action_copy(self) -> None:
        """To the clipboard."""
        self._copy(*self.copies())

    def action_copy_more(self) -> None:
        """The next of what else there is."""
        more = self.more_copies()
        if not more:
            self.app.notify("nothing else to copy here", timeout=2)
            return
        place = self._next_copy % len(more)
        self._next_copy = place + 1
        what, text = more[place]
        self._copy(f"{what} {place + 1} of {len(more)}" if len(more) > 1 else what, text)

    def action_row(self) -> None:
        """Its row on the timeline."""
        self.post_message(RowWanted(self.item))

    def _copy(self, what: str, text: str) -> None:
        self.app.copy_to_clipboard(text)
        self.app.notify(f"copied: {what}", timeout=2, markup=False)
