"""A line over whatever lies on the main screen: the engine is gone, and what is left to do."""

from __future__ import annotations

from typing import Any

from textual.app import App
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from workbench.text import visible
from workbench.view.state import SessionState


class EngineLost(Static):
    """The first line of a modal, as the activity is covered there."""

    DEFAULT_CSS = """
    EngineLost { dock: top; width: 1fr; height: auto; max-height: 3; padding: 0 1; background: $surface; }
    """


def say_engine_lost(app: App[Any], state: SessionState) -> None:
    """Show the line on every modal while the engine is gone, and take it away once there is one again."""
    for screen in app.screen_stack:
        if not isinstance(screen, ModalScreen):
            continue
        shown = screen.query(EngineLost)
        if state.work != "lost":
            shown.remove()
        elif not shown:
            screen.mount(
                EngineLost(Content.styled(f"✗ {visible(state.work_detail, lines=False)}", "bold $sign-failed"))
            )
