"""Gives a widget the keys at once; Textual's own way leaves the next keys of a burst where they were."""

from __future__ import annotations

from textual.widget import Widget


def give_keys(widget: Widget, shown_by: Widget | None = None) -> None:
    """The widget has the keys from here on; `shown_by` is what was just given the class that shows it."""
    if shown_by is not None:
        widget.app.stylesheet.update(shown_by)
    widget.screen.set_focus(widget)
