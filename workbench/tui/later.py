"""Modules that are imported after the first frame: the parts of the screen that an empty session does not need."""

from __future__ import annotations

from importlib import import_module

_PARTS = (
    "widgets.texts",  # brings Markdown and its parser, half of what the whole screen takes to load
    "widgets.card",
    "screens.approval",
    "screens.answer",
    "screens.pager",
    "screens.help",
    "screens.diff_viewer",
)


def load_later() -> None:
    """Import them; called in a thread once the screen is painted, so that nothing waits for them later."""
    for part in _PARTS:
        import_module(f"workbench.tui.{part}")
    import_module("workbench.view.formatting.detail")
