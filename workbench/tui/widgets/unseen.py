"""What is scrolled out of sight keeps no lines that were painted: it is painted anew when it is seen again.

Each line that Textual keeps has about four kilobytes with all the pieces it was cut into. The conversation calls this.
"""

from __future__ import annotations

from textual.geometry import Size
from textual.widget import Widget, _RenderCache


def forget_unseen(panel: Widget) -> None:
    """Drop the lines of everything in the panel that no cell of the screen shows."""
    seen = panel.screen._compositor.visible_widgets
    for widget in panel.walk_children(Widget):
        if widget not in seen and (widget._render_cache.lines or widget._styles_cache._cache):
            widget._set_dirty()
            widget._render_cache = _RenderCache(Size(), [])
