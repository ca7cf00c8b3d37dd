"""What a panel says at its lower edge while it does not follow: how much is below, and the key that goes there."""

from __future__ import annotations

from typing import Final

from textual.content import Content
from textual.style import Style
from textual.widget import Widget

_STYLE: Final = "bold $sign-running"


def say_below(panel: Widget, words: str, action: str) -> None:
    """Show the words behind an arrow; a click on them runs the action. No words: the end is in sight."""
    hint = Content("")
    if words:
        hint = Content.styled(f"↓ {words}", _STYLE).stylize(Style.from_meta({"@click": action}))
    if hint.markup != (panel.border_subtitle or ""):
        panel.border_subtitle = hint
