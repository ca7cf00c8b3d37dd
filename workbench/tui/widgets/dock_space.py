"""The space at the bottom of the main screen that a docked panel covers."""

from __future__ import annotations

from textual.screen import Screen
from textual.widget import Widget

from workbench.tui.widgets.conversation import Conversation
from workbench.tui.widgets.prompt import Prompt


class DockSpace:
    """The rows at the bottom of the main screen that one docked panel covers, and what changes while it does.

    The conversation ends above the panel and does not repeat the actions that wait in it, and the prompt has no cursor.
    """

    def __init__(self, screen: Screen[None]) -> None:
        """`screen` is the one that has the conversation and the prompt."""
        self._screen = screen
        self._is_reserved = False

    def reserve(self, rows: int) -> None:
        """Let the conversation end above the lowest `rows` rows of the screen."""
        self._is_reserved = True
        self._show(rows)

    def release(self) -> None:
        """Release the rows; do nothing if none are reserved here."""
        if self._is_reserved:
            self._is_reserved = False
            self._show(0)

    def _show(self, rows: int) -> None:
        body = self._screen.query_one("#body")
        covered = min(rows, self._screen.size.height - 1) - sum(
            each.outer_size.height for each in self._lower_parts(body)
        )
        if max(0, covered) != body.styles.margin.bottom:
            body.styles.margin = (0, 0, max(0, covered), 0)
        self._screen.query_one(Prompt).show_cursor = not rows
        self._screen.query_one(Conversation).mounted.hide_waiting(bool(rows))

    def _lower_parts(self, body: Widget) -> list[Widget]:
        lower = self._screen.children[self._screen.children.index(body) + 1 :]
        return [widget for widget in lower if widget.display and not widget.has_class("-textual-system")]
