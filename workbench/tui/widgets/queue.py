"""The messages that wait for the agent, above the prompt: one is taken back to be written anew, or dropped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from workbench.text import counted, first_line
from workbench.tui.focusing import give_keys
from workbench.view.state import UserItem

ROWS = 4
"""Messages that are shown at once; fewer where the screen is low."""
_LOW, _LOW_ROWS = 30, 2


class QueueList(Widget, can_focus=True):
    """One line a message; up in an empty prompt leads here."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "withdraw(True)", "Edit", id="queue.edit"),
        Binding("delete,backspace", "withdraw(False)", "Drop", id="queue.drop"),
        Binding("up", "move(-1)", "Previous", id="queue.previous", show=False),
        Binding("down", "move(1)", "Next, then the prompt", id="queue.next", show=False),
    ]

    class Withdrawn(Message):
        """The person takes a message back; with `edit` to write it anew."""

        def __init__(self, item: UserItem, *, edit: bool) -> None:
            super().__init__()
            self.item, self.edit = item, edit

    class Left(Message):
        """The keys are the prompt's again; `typed` is a letter for it."""

        def __init__(self, typed: str = "") -> None:
            super().__init__()
            self.typed = typed

    def __init__(self) -> None:
        super().__init__(id="queue")
        self.at = 0
        self._items: list[UserItem] = []
        self._asked: set[int] = set()
        self.display = False

    def show(self, items: Sequence[UserItem]) -> None:
        """These wait now."""
        if [item.seq for item in items] == [item.seq for item in self._items]:
            return
        self._items = list(items)
        self._asked &= {item.seq for item in items}
        self.at = max(0, min(self.at, len(items) - 1))
        self.border_title = Content(f"{len(items)} queued")
        self.display = bool(items)
        if not items and self.has_focus:
            self.post_message(self.Left())
        self.refresh(layout=True)

    def enter(self) -> bool:
        """Take the keys, at the newest message; False when none waits."""
        if not self._items:
            return False
        self.at = len(self._items) - 1
        give_keys(self)
        return True

    def render(self) -> Content:
        """One line a message, the chosen one among them."""
        shown = list(enumerate(self._items))[self._first : self._first + self._rows]
        return Content("\n").join(self._row(at, item) for at, item in shown)

    def action_move(self, by: int) -> None:
        """Another message; below the last one is the prompt."""
        if self.at + by >= len(self._items):
            self.post_message(self.Left())
        self.at = max(0, min(self.at + by, len(self._items) - 1))
        self.refresh()

    def action_withdraw(self, edit: bool) -> None:
        """Take the chosen message back, once."""
        if self._items and self._items[self.at].seq not in self._asked:
            self._asked.add(self._items[self.at].seq)
            self.post_message(self.Withdrawn(self._items[self.at], edit=edit))

    def on_key(self, event: events.Key) -> None:
        """Letters are text of the prompt's."""
        if event.is_printable and event.character:
            event.stop()
            self.post_message(self.Left(event.character))

    def on_focus(self) -> None:
        """The chosen row stands out."""
        self.refresh()

    def on_blur(self) -> None:
        """None does any more."""
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        """A click chooses a row; on the chosen one it takes the message back."""
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
