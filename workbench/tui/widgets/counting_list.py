"""A list of lines that says at its lower edge how many are below while it does not follow; base of the timeline."""

from __future__ import annotations

from workbench.tui.key_names import key_of
from workbench.tui.widgets.below import say_below
from workbench.tui.widgets.upward_list import UpwardList


class CountingList(UpwardList):
    """Counts the lines below those in sight."""

    def set_count(self, count: int) -> None:
        """So many lines there are now."""
        super().set_count(count)
        self._say_below()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Other lines are below."""
        super().watch_scroll_y(old_value, new_value)
        self._say_below()

    def on_resize(self) -> None:
        """More or fewer lines are in sight."""
        super().on_resize()
        self._say_below()

    def _say_below(self) -> None:
        below = self._count - self.scroll_offset.y - self.size.height
        is_said = below > 0 and self.size.height and not self._at_end
        say_below(self, f"{below} more · {key_of(self.app, 'list.last', 'end')}" if is_said else "", "last")
