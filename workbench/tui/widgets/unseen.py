"""What is scrolled out of sight costs little: painted lines are dropped at once, widgets once they are screens away.

Each line that Textual keeps has about four kilobytes with all the pieces it was cut into, each widget some fifty. The
conversation calls this; what is seen again is painted again, and mounted again by its window.
"""

from __future__ import annotations

from collections.abc import Sequence

from textual.widget import Widget

from workbench.tui.textual_seam.memory import drop_painted_lines
from workbench.tui.textual_seam.screen import widgets_in_sight
from workbench.view.window import mounted_rows


def forget_unseen(panel: Widget) -> None:
    """Drop the lines of everything in the panel that no cell of the screen shows."""
    in_sight = widgets_in_sight(panel.screen)
    for widget in panel.walk_children(Widget):
        if widget not in in_sight:
            drop_painted_lines(widget)


def is_held(panel: Widget) -> bool:
    """Whether something within the panel has the keys or is selected: it must not go away by itself."""
    focused = panel.screen.focused
    return bool(panel.screen.selections) or (focused is not None and panel in focused.ancestors)


def far_above(panel: Widget, views: Sequence[Widget]) -> int:
    """Return how many of the first views are screens above the last one; one not laid out yet has no rows."""
    rows = mounted_rows(panel.size.height)
    for index in range(len(views) - 1, -1, -1):
        rows -= views[index].size.height
        if rows < 0:
            return index
    return 0
