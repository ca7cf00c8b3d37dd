"""The borders between the panels follow the mouse."""

from __future__ import annotations

from textual import events
from textual.widget import Widget

from workbench.tui.screens.panel_keys import PanelKeys
from workbench.tui.widgets.side import SidePanels

_WIDTH = "width"


class Dragging(PanelKeys):
    """The part of the main screen that moves a border while the mouse holds it."""

    _held = ""
    """The border that is held: that beside the panels, or the upper one of a panel, by its id."""

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Take hold of a border."""
        self._held = self._border_at(event.screen_x, event.screen_y)
        if self._held:
            self.query_one(SidePanels).capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """The border goes where the mouse is."""
        if not self._held:
            return
        self.clear_selection()
        self._sized_at = self.size
        side = self.query_one(SidePanels)
        if self._held == _WIDTH:
            side.make_wider(side.region.right - event.screen_x - side.outer_size.width, self.size.width)
            return
        panel = self.query_one(f"#{self._held}", Widget)
        room = self.size.height * 6 // 10 + 2 if self.has_class("-narrow") else side.size.height
        side.make_higher(self._held, panel.region.bottom - event.screen_y - panel.outer_size.height, room)

    def on_mouse_up(self) -> None:
        """Let go."""
        if self._held:
            self._held = ""
            self.query_one(SidePanels).release_mouse()
            self.clear_selection()

    def _border_at(self, x: int, y: int) -> str:
        side = self.query_one(SidePanels)
        if self.has_class("-zoomed"):
            return ""
        if self.has_class("-narrow"):
            opened = side.opened
            return opened if opened and y == self.query_one(f"#{opened}", Widget).region.y else ""
        if x in (side.region.x - 1, side.region.x) and side.region.y <= y < side.region.bottom:
            return _WIDTH
        tops = {name: self.query_one(f"#{name}", Widget).region.y for name in ("tasks", "changes")}
        return next((name for name, top in tops.items() if x > side.region.x and y in (top - 1, top)), "")
