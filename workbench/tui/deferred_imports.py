"""Imports, after the first frame, the modules that an empty session does not need."""

from __future__ import annotations

from importlib import import_module

_MODULES = (
    # loads Markdown and its parser, half of the load time of the whole screen
    "workbench.tui.widgets.conversation_messages",
    "workbench.tui.widgets.card",
    "workbench.tui.screens.approval",
    "workbench.tui.screens.agent_question",
    "workbench.tui.screens.pager",
    "workbench.tui.screens.help",
    "workbench.tui.screens.diff_viewer",
    "workbench.view.formatting.detail",
)


def load_later() -> None:
    """Import these modules; called in a thread once the screen is painted, so that no key has to wait for an import."""
    for module in _MODULES:
        import_module(module)
