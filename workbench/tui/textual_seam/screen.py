"""The frame of a key is made as soon as the key was taken in, before whatever else there is to lay out and to paint.

Textual would make it with the next tick of a clock, up to two ticks away behind a frame that took long. The main screen
is one of these.
"""

from __future__ import annotations

from textual import events
from textual.screen import Screen

from workbench.tui import pressed


class LowLatencyScreen(Screen[None]):
    """A screen that paints at once what a key changed in the widget that has the keys."""

    def _on_screen_resume(self, event: events.ScreenResume) -> None:
        """Before it was shown, everything on it has just been styled, and that is not done twice."""
        event.refresh_styles = event.refresh_styles and self.stack_updates > 0

    async def _on_idle(self, event: events.Idle) -> None:
        """Everything that has come was taken in; Textual's own way follows and sees to the rest."""
        focused = self.focused
        if focused is None or focused not in self._dirty_widgets or not pressed.is_owed():
            return
        grows = any(focused in widgets for widgets in self._layout_widgets.values())
        if grows or self.app._batch_count or not self.is_current:
            return
        pressed.paid()
        rest = self._dirty_widgets - {focused}
        self._compositor.update_widgets({focused})
        self._compositor_refresh()
        self._dirty_widgets |= rest
