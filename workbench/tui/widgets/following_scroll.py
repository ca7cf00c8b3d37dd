"""A scrolling container that stays at its end until the person scrolls up; End takes it up again."""

from __future__ import annotations

from textual.containers import VerticalScroll
from textual.geometry import Size
from textual.layout import DockArrangeResult

from workbench.tui.textual_seam.layout import SingleLayoutPass, anchor_when_scrollable, is_anchor_released


class FollowingScroll(VerticalScroll, SingleLayoutPass):
    """Follows what is added at the end; tells subclasses when an end of what is mounted is reached."""

    _is_scrollable = False

    def on_mount(self) -> None:
        """Begin at the end."""
        self.anchor()

    def arrange(self, size: Size, optimal: bool = False) -> DockArrangeResult:
        """What fits begins at the top: Textual would push it down to the end, and forget to follow it."""
        result = super().arrange(size, optimal)
        self._is_scrollable = result.spatial_map.total_region.bottom > self.container_size.height
        anchor_when_scrollable(self, is_scrollable=self._is_scrollable)
        return result

    @property
    def follows(self) -> bool:
        """Whether the end is kept in sight."""
        return not is_anchor_released(self)

    @property
    def fits(self) -> bool:
        """Whether there is nothing to scroll, as of the last arrangement."""
        return not self._is_scrollable

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Notice when the person reaches the top or the end; what became small enough to fit was not scrolled."""
        super().watch_scroll_y(old_value, new_value)
        if not self.is_mounted or self.max_scroll_y <= 0:
            return
        if new_value <= 0 < old_value:
            self.top_reached()
        elif old_value < new_value >= self.max_scroll_y:
            self.end_reached()

    def top_reached(self) -> None:
        """The first mounted widget is in sight."""

    def end_reached(self) -> None:
        """The last mounted widget is in sight."""
