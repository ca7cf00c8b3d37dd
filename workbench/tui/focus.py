"""Moves the keyboard focus at once; `Widget.focus` is deferred, so the next keys of a burst would miss the widget."""

from __future__ import annotations

from typing import Any

from textual.screen import Screen
from textual.widget import Widget


def focus_now(widget: Widget, container: Widget | None = None) -> None:
    """Focus a widget; pass `container` if a change of its classes has only just made the widget visible."""
    if container is not None:
        widget.app.stylesheet.update(container)
    widget.screen.set_focus(widget)


def focus_default(screen: Screen[Any]) -> None:
    """Focus the first focusable widget that matches the screen's `AUTO_FOCUS`, if there is one."""
    selector = screen.app.AUTO_FOCUS if screen.AUTO_FOCUS is None else screen.AUTO_FOCUS
    widget = next((each for each in screen.query(selector) if each.focusable), None) if selector else None
    if widget is not None:
        screen.set_focus(widget)
