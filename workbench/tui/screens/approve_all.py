"""All that `Y` would approve, in full, before it does; opened from a question when several actions wait."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from workbench.tui.screens.question import QuestionScreen
from workbench.tui.widgets.painting import css_beside
from workbench.tui.widgets.question_box import packed
from workbench.tui.widgets.question_text import QuestionText
from workbench.view.formatting.approval import all_keys, all_of
from workbench.view.state import ActionItem

_AROUND = 5  # border, gap and keys


class ApproveAllScreen(QuestionScreen[bool]):
    """Shows several actions whole; dismisses with whether all of them are approved."""

    DEFAULT_CSS = css_beside(__file__)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("Y", "approve", "Approve all of these", id="approval.all-of-these"),
        Binding("escape", "back", "Back", id="approval.back"),
        Binding("down", "move(1)", "Down", show=False, id="approval.all-down"),
        Binding("up", "move(-1)", "Up", show=False, id="approval.all-up"),
        Binding("pagedown,space", "move(10)", "Page down", show=False, id="approval.all-page-down"),
        Binding("pageup", "move(-10)", "Page up", show=False, id="approval.all-page-up"),
        Binding("end", "move(1000000)", "End", show=False, id="approval.all-end"),
        Binding("home", "move(-1000000)", "Top", show=False, id="approval.all-home"),
    ]

    def __init__(
        self, actions: Sequence[ActionItem], left_out: int = 0, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`left_out` is how many more there would be, had the person not changed something of them."""
        super().__init__(clock)
        self._count = len(actions)
        self._text = QuestionText(all_of(actions, left_out), id="all")
        self._keys = Static(id="keys")
        self._box = Vertical(id="box")
        self._rows = 0
        self._seen = False

    def compose(self) -> ComposeResult:
        """The text and the keys."""
        self._box.border_title = Content.styled(f"Approve all {self._count}?", "bold")
        with self._box:
            yield self._text
            yield self._keys

    def unanswered(self) -> bool:
        """Nothing is approved."""
        return False

    def on_resize(self) -> None:
        """Take the room there is now."""
        width = min(104, self.size.width - (2 if self.size.width < 100 else 8))
        self._rows = max(1, min(self._text.rows_at(width - 6), self.size.height - _AROUND))
        self._box.styles.width = width
        self._text.styles.height = self._rows
        self._text.lay_out(width - 6)
        self.call_after_refresh(self.tell)

    def on_key(self, event: events.Key) -> None:
        """A key before the quiet time is over begins it anew, and answers nothing."""
        if not self.heard(event) and event.key == "Y":
            event.stop()
        self.call_after_refresh(self.tell)

    def tell(self) -> None:
        """Show the keys that work now."""
        text, height = self._text, self._text.size.height
        if 0 < height <= self._rows and text.scroll_offset.y + height >= text.virtual_size.height > 0:
            self._seen = True
        lines = packed(all_keys(self._count, seen=self._seen, armed=self.is_armed), self.size.width - 8)
        self._keys.update(Content("\n").join(lines))

    def action_approve(self) -> None:
        """Approve all of them, when all was seen."""
        self.tell()
        if self._seen:
            self.leave(True)

    def action_back(self) -> None:
        """Nothing is approved."""
        self.leave(False)

    def action_move(self, lines: int) -> None:
        """Scroll."""
        self._text.scroll_to(y=self._text.scroll_offset.y + lines, animate=False)
