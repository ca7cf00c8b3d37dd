"""The queued messages, above the prompt; each can be edited again or removed from the queue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from workbench.text import counted, first_line
from workbench.tui.focus import focus_now
from workbench.tui.widgets.strips import entitle
from workbench.view.state import UserItem

ROWS = 4
"""Number of messages in view at once; fewer on a low screen."""
_LOW, _LOW_ROWS = 30, 2


class QueueList(Widget, can_focus=True):
    """One line for each queued message; the up key in an empty prompt leads here."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "withdraw(True)", "Edit", id="queue.edit"),
        Binding("delete,backspace", "withdraw(False)", "Drop", id="queue.drop"),
        Binding("up", "move(-1)", "Previous", id="queue.previous", show=False),
        Binding("down", "move(1)", "Next, then the prompt", id="queue.next", show=False),
    ]

    class Withdrawn(Message):
        """Posted when the user removes a message from the queue; with `edit`, to edit it in the prompt."""

        def __init__(self, item: UserItem, *, edit: bool) -> None:
            super().__init__()
            self.item, self.edit = item, edit

    class Exited(Message):
        """Posted when the focus goes back to the prompt."""

    def __init__(self) -> None:
        super().__init__(id="queue")
        self.at = 0
        self._items: list[UserItem] = []
        self._asked: set[int] = set()
        self.display = False

    def show(self, items: Sequence[UserItem], *, is_lost: bool = False) -> None:
        """Show the queued messages; `is_lost` says that no engine is there to send them."""
        self._entitle(len(items), is_lost=is_lost)
        if [item.seq for item in items] == [item.seq for item in self._items]:
            return
        self._items = list(items)
        self._asked &= {item.seq for item in items}
        self.at = max(0, min(self.at, len(items) - 1))
        self.display = bool(items)
        if not items and self.has_focus:
            self.post_message(self.Exited())
        self.refresh(layout=True)

    def _entitle(self, count: int, *, is_lost: bool) -> None:
        when = "sent when the agent continues" if is_lost else "sent at the next step"
        entitle(self, Content(f"{count} queued · {when}"))

    def enter(self) -> bool:
        """Take the focus, at the newest message; return False if the queue is empty."""
        if not self._items:
            return False
        self.at = len(self._items) - 1
        focus_now(self)
        return True

    def render(self) -> Content:
        """Return one line for each message in view."""
        in_view = list(enumerate(self._items))[self._first : self._first + self._rows]
        return Content("\n").join(self._row(at, item) for at, item in in_view)

    def action_move(self, by: int) -> None:
        """Choose another message; below the last one, go back to the prompt."""
        if self.at + by >= len(self._items):
            self.post_message(self.Exited())
        self.at = max(0, min(self.at + by, len(self._items) - 1))
        self.refresh()

    def action_withdraw(self, edit: bool) -> None:
        """Ask, once for each message, to remove the chosen message from the queue."""
        if self._items and self._items[self.at].seq not in self._asked:
            self._asked.add(self._items[self.at].seq)
            self.post_message(self.Withdrawn(self._items[self.at], edit=edit))

    def on_focus(self) -> None:
        """Highlight the chosen row."""
        self.refresh()

    def on_blur(self) -> None:
        """Highlight no row."""
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        """Choose a row; a double click on the chosen one edits the message."""
        at = self._first + event.get_content_offset_capture(self).y
        if at == self.at and self.has_focus and event.chain == 2:
            self.action_withdraw(True)
        elif at < len(self._items):
            self.at = at
            self.refresh()

    @property
    def _rows(self) -> int:
        return _LOW_ROWS if self.screen.size.height < _LOW else ROWS

    @property
    def _first(self) -> int:
        return max(0, min(self.at - self._rows + 1, len(self._items) - self._rows))

    def _row(self, at: int, item: UserItem) -> Content:
        width = max(10, self.size.width)
        images = f" ▣ {len(item.images)}" if item.images else ""
        lines = item.text.strip().count("\n")
        more = f" · {counted(lines, 'line')} more" if lines else ""
        line = Content(f"○ {first_line(item.text, 300)}{more}{images}").truncate(width, ellipsis=True, pad=True)
        chosen = self.has_focus and at == self.at
        return line.stylize_before("$block-cursor-foreground on $block-cursor-background" if chosen else "$dim")
