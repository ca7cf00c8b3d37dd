"""Moves the borders between the panels of the main screen, with keys and the mouse."""

from __future__ import annotations

from textual.geometry import Size
from textual.widget import Widget

from workbench.tui.widgets.side_panels import PanelTabs, SidePanels

_WIDTH = "width"
_LOWER_PANELS = ("tasks", "changes")
"""Ids of the panels below another panel, whose upper border can be moved."""


class PanelBorders:
    """Moves the border beside the side panels and the borders between them.

    Sizes set by the user last until the size of the screen changes.
    """

    def __init__(self, side: SidePanels) -> None:
        self._side = side
        self._dragged = ""
        self._screen_size: Size | None = None

    @property
    def is_dragged(self) -> bool:
        """Whether a border is being dragged with the mouse."""
        return bool(self._dragged)

    def grab(self, x: int, y: int) -> None:
        """Start dragging the border at this position of the screen, if there is one."""
        self._dragged = self._border_at(x, y)
        if self._dragged:
            self._side.capture_mouse()

    def drag(self, x: int, y: int) -> None:
        """Move the dragged border to this position of the screen."""
        side = self._side
        self._screen_size = side.screen.size
        if self._dragged == _WIDTH:
            side.make_wider(side.region.right - x - side.outer_size.width, side.screen.size.width)
            return
        panel = side.query_one(f"#{self._dragged}", Widget)
        y += self._is_narrow  # there the border is the line of tabs, which is above the panel
        side.make_higher(self._dragged, panel.region.bottom - y - panel.outer_size.height, self._available_height())

    def release(self) -> None:
        """Stop dragging the border."""
        self._dragged = ""
        self._side.release_mouse()

    def move(self, wider: int, higher: int) -> None:
        """Make the side panels wider by some columns, or the focused panel higher by some rows."""
        side = self._side
        if self._is_narrow and not side.opened:
            return
        self._screen_size = side.screen.size
        if wider and not self._is_narrow:
            side.make_wider(wider, side.screen.size.width)
        elif higher and self._is_narrow:
            side.make_higher(side.opened, higher, self._available_height())
        elif higher:
            focused = side.screen.focused
            name = focused.id if focused is not None else None
            if name in _LOWER_PANELS:
                side.make_higher(name, higher, self._available_height())
            else:
                # The timeline takes the remaining rows, so it grows when the panel below it shrinks.
                side.make_higher("tasks", -higher, self._available_height())

    def reset_after_resize(self) -> None:
        """Restore the style sheet's sizes if the screen size has changed since the user set others."""
        if self._screen_size and self._screen_size != self._side.screen.size:
            self._screen_size = None
            self._side.reset_sizes()

    @property
    def _is_narrow(self) -> bool:
        return self._side.screen.has_class("-narrow")

    def _available_height(self) -> int:
        """Return the rows that the panels share; on a narrow screen, about 60 % of its height for the open panel."""
        return self._side.screen.size.height * 6 // 10 + 2 if self._is_narrow else self._side.size.height

    def _border_at(self, x: int, y: int) -> str:
        """Return `_WIDTH` or the id of the panel whose upper border is at this position; empty if there is none."""
        side = self._side
        if side.screen.has_class("-zoomed"):
            return ""
        if self._is_narrow:
            tabs = side.query_one(PanelTabs)
            return side.opened if y == tabs.region.y and not tabs.tab_at(x - tabs.region.x) else ""
        if x == side.region.x and side.region.y <= y < side.region.bottom:
            return _WIDTH
        tops = {name: side.query_one(f"#{name}", Widget).region.y for name in _LOWER_PANELS}
        return next((name for name, top in tops.items() if x > side.region.x and y in (top - 1, top)), "")
