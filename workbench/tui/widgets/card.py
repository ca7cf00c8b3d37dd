"""The card of an action in the conversation; it can be focused, and enter or a click shows all of the action."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Size
from textual.selection import Selection

from workbench.tui.messages import ActionChosen, DiffChosen, ViewChanged
from workbench.tui.widgets.copyable import Copy, Copying
from workbench.tui.widgets.strips import as_content, css_beside
from workbench.view import clock
from workbench.view.formatting.actions import copied
from workbench.view.formatting.cards import card, copyable_rows, printed_output
from workbench.view.read_groups import is_folded, toggle
from workbench.view.state import ActionItem


class ActionCard(Copying):
    """One action: its line and a few lines of its result, updated while it runs."""

    DEFAULT_CSS = css_beside(__file__)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open", id="conversation.open"),
        Binding("space", "fold", "Fold", id="conversation.fold"),
        Binding("d", "diff", "Diff", id="conversation.diff"),
    ]

    def __init__(self, item: ActionItem, workspace: str) -> None:
        super().__init__()
        self.item: ActionItem = item
        self._workspace = workspace
        self._drawn: tuple[int, Content, int] | None = None
        self._mark_failed()

    def show_item(self) -> None:
        """Show the action as it is now."""
        before = self._drawn
        self._drawn = None
        self._mark_failed()
        width = before[0] if before else self.size.width
        self.refresh(layout=before is None or self._draw(width)[1] != before[2])

    def render(self) -> Content:
        """Return the lines for the current width."""
        return self._draw(self.content_size.width)[0]

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the number of lines, none of which wraps."""
        return self._draw(width)[1]

    def action_open(self) -> None:
        """Show everything about the action, or unfold the reads that are one line."""
        if is_folded(self.item):
            self.post_message(ViewChanged(toggle(self.item)))
        else:
            self.post_message(ActionChosen(self.item.action_id))

    def action_diff(self) -> None:
        """Show what the action changed."""
        self.post_message(DiffChosen(self.item.action_id))

    def action_fold(self) -> None:
        """Fold the card to its first line, or unfold it; reads that follow each other are folded to one line."""
        if (changed := toggle(self.item)).updated:
            self.post_message(ViewChanged(changed))
            return
        self.item.folded = not self.item.folded
        self.show_item()

    def copies(self) -> Copy:
        """Return what `y` copies: the command, or the main argument."""
        return copied(self.item)

    def more_copies(self) -> list[Copy]:
        """Return what `Y` copies: the output."""
        output = printed_output(self.item)
        return [("the output", output)] if output else []

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the text selected with the mouse, without bars, signs and trailing spaces."""
        lines = card(self.item, max(20, self.content_size.width), self._workspace, clock.now())
        rows = copyable_rows(lines)
        (first, start), (last, end) = _span(selection, len(rows))
        parts = [
            text[max(skip, start if at == first else 0) : end if at == last and end is not None else None].rstrip()
            for at, (skip, text) in enumerate(rows)
            if first <= at <= last
        ]
        return "\n".join(parts), "\n"

    def on_click(self, event: events.Click) -> None:
        """Open the action, as enter does."""
        event.stop()
        self.action_open()

    def _draw(self, width: int) -> tuple[Content, int]:
        if self._drawn is None or self._drawn[0] != width:
            lines = card(self.item, max(20, width), self._workspace, clock.now())
            self._drawn = (width, as_content(lines), len(lines))
        return self._drawn[1], self._drawn[2]

    def _mark_failed(self) -> None:
        self.set_class(self.item.phase == "failed", "-failed")


def _span(selection: Selection, count: int) -> tuple[tuple[int, int], tuple[int, int | None]]:
    """Return row and column of the first selected character and of the end; its column is None for a whole row."""
    start, end = selection.start, selection.end
    return (start.y, start.x) if start is not None else (0, 0), (end.y, end.x) if end is not None else (count, None)
