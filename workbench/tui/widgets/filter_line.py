"""The line that filters the timeline; made when it is first asked for, gone again when it is empty."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Input

from workbench.tui.widgets.painting import css_beside
from workbench.view.search import HELP


class FilterLine(Input):
    """Rows are filtered while one writes; enter keeps the filter, escape takes it away."""

    DEFAULT_CSS = css_beside(__file__)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "keep", "Keep", id="filter.keep"),
        Binding("down", "keep", "Keep", show=False, id="filter.rows"),
        Binding("escape", "clear", "Show all", id="filter.clear"),
    ]

    class Left(Message):
        """The person goes back to the rows."""

    def __init__(self) -> None:
        super().__init__(placeholder=HELP, select_on_focus=False, id="filter")

    def action_clear(self) -> None:
        """Every row again."""
        self.value = ""
        self.action_keep()

    def action_keep(self) -> None:
        """Back to the rows that fit."""
        self.display = bool(self.value.strip())
        self.post_message(self.Left())
