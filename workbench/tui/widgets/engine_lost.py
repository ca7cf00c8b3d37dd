"""A line on every modal screen while no answer can reach the agent, with what the user can do.

The engine has stopped or does not respond, or another screen controls the session.
"""

from __future__ import annotations

from typing import Any

from textual.app import App
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from workbench.text import visible
from workbench.view.notices import read_only_line
from workbench.view.state import SessionState


class EngineLost(Static):
    """Says at the top of a modal screen why no answer can reach the agent; the modal hides the activity line."""

    DEFAULT_CSS = """
    EngineLost { dock: top; width: 1fr; height: auto; max-height: 3; padding: 0 1; background: $surface; }
    """


def show_engine_lost(app: App[Any], state: SessionState) -> None:
    """Show the line on every modal while an answer cannot reach the agent, and remove it afterwards."""
    reason = state.work_detail if state.work == "lost" else state.stalled
    line = Content.styled(f"✗ {visible(reason, lines=False)}", "bold $sign-failed")
    if not reason and not state.has_control:
        reason = read_only_line(state)
        line = Content.styled(reason, "bold $warning")
    for screen in app.screen_stack:
        if not isinstance(screen, ModalScreen):
            continue
        lines = screen.query(EngineLost)
        if not reason:
            lines.remove()
        elif not lines:
            screen.mount(EngineLost(line))
        else:
            lines.first().update(line)
