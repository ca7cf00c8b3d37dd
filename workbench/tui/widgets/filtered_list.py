"""A list of which one may see only the lines that fit; asks for the line to write that in. Base of the timeline."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message

from workbench.tui.widgets.counting_list import CountingList


class FilteredList(CountingList):
    """`is_filtered` while not all lines are shown."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "Filter", id="timeline.filter"),
        Binding("escape", "show_all", "Every row again", id="timeline.all"),
    ]

    class FilterAsked(Message):
        """The person wants to filter the rows."""

    class ShowAllAsked(Message):
        """The person wants every row again."""

    def filter(self, text: str) -> None:
        """Show only the lines that fit; an empty text shows all."""
        raise NotImplementedError

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """There is nothing to show again where all is shown."""
        return self.is_filtered if action == "show_all" else super().check_action(action, parameters)

    def action_filter(self) -> None:
        """Ask for the line to write the filter in."""
        self.post_message(self.FilterAsked())

    def action_show_all(self) -> None:
        """No filter any more, at once: what is pressed behind it goes where it would without one."""
        self.filter("")
        self.post_message(self.ShowAllAsked())
