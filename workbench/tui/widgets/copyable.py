"""The base of messages and cards, which can be focused, copied and looked up on the timeline."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget

from workbench.tui.messages import RewindRequested, RowRequested
from workbench.tui.open_screens import open_link
from workbench.view.state import Item
from workbench.view.urls import urls_in

Copy = tuple[str, str]
"""A description for the user, and the text."""


class Copying(Widget, can_focus=True):
    """A widget whose content can be copied: `y` copies its message or command, `Y` its output or next code block.

    `o` opens its links.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "copy", "Copy", id="conversation.copy"),
        Binding("Y", "copy_more", "Copy code or output", id="conversation.copy-more"),
        Binding("o", "open_url", "Open a link", id="conversation.links"),
        Binding("g", "row", "On the timeline", id="conversation.row"),
        Binding("r", "rewind", "Rewind to here", id="conversation.rewind", show=False),
    ]

    item: Item
    """The item that it shows."""
    _next_copy = 0

    @abstractmethod
    def copies(self) -> Copy:
        """Return the text that `y` copies, with its description."""

    def more_copies(self) -> list[Copy]:
        """Return the texts that `Y` copies, one with each press."""
        return []

    def action_copy(self) -> None:
        """Copy the message or command."""
        self._copy(*self.copies())

    def action_copy_more(self) -> None:
        """Copy the next code block, or the output."""
        more = self.more_copies()
        if not more:
            self.app.notify("Nothing else to copy here", timeout=2)
            return
        index = self._next_copy % len(more)
        self._next_copy = index + 1
        what, text = more[index]
        self._copy(f"{what} {index + 1} of {len(more)}" if len(more) > 1 else what, text)

    def action_open_url(self) -> None:
        """Ask which of its links to open."""
        urls = urls_in("\n".join(text for _, text in [self.copies(), *self.more_copies()]))
        if urls:
            open_link(self.app, urls)
        else:
            self.app.notify("No link here", timeout=2)

    def action_row(self) -> None:
        """Show its row on the timeline."""
        self.post_message(RowRequested(self.item))

    def action_rewind(self) -> None:
        """Go back to its state of the session."""
        self.post_message(RewindRequested(self.item))

    def _copy(self, what: str, text: str) -> None:
        self.app.copy_to_clipboard(text)
        self.app.notify(f"Copied: {what}", timeout=2, markup=False)
