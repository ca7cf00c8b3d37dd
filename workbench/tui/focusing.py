"""Moves the keyboard focus at once; `Widget.focus` would leave the next keys of a burst with the old widget."""

from __future__ import annotations

from typing import Any

from textual.screen import Screen
from textual.widget import Widget


def focus_now(widget: Widget, container: Widget | None = None) -> None:
    """Focus a widget; if a change of classes of `container` has just shown it, pass that too."""
    if container is not None:
        widget.app.stylesheet.update(container)
    widget.screen.set_focus(widget)


def focus_default(screen: Screen[Any]) -> None:
    """Focus the first focusable widget that matches the screen's `AUTO_FOCUS`, if there is one."""
    selector = screen.app.AUTO_FOCUS if screen.AUTO_FOCUS is None else screen.AUTO_FOCUS
    widget = next((each for each in screen.query(selector) if each.focusable), None) if selector else None
    if widget is not None:
        screen.set_focus(widget)
