"""Imports, after the first frame, the modules that an empty session does not need."""

from __future__ import annotations

from importlib import import_module

_PARTS = (
    "widgets.conversation_messages",  # loads Markdown and its parser, half of the load time of the whole screen
    "widgets.card",
    "screens.approval",
    "screens.answer",
    "screens.pager",
    "screens.help",
    "screens.diff_viewer",
)


def load_later() -> None:
    """Import these modules; called in a thread once the screen is painted, so that no key has to wait for an import."""
    for part in _PARTS:
        import_module(f"workbench.tui.{part}")
    import_module("workbench.view.formatting.detail")
