"""A timer for widgets that count seconds, and the hint about what is below the visible part of a panel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from textual.content import Content
from textual.style import Style
from textual.timer import Timer
from textual.widget import Widget


class SecondTicker:
    """Calls a function once a second while something is running; costs nothing otherwise."""

    def __init__(self, widget: Widget, tick: Callable[[], object]) -> None:
        self._widget = widget
        self._tick = tick
        self._timer: Timer | None = None
        self.is_running = False

    def run(self, is_needed: bool) -> None:
        """Start or stop ticking; does nothing before the widget is mounted."""
        if not self._widget.is_attached or is_needed == self.is_running:
            return
        self.is_running = is_needed
        if self._timer is None:
            self._timer = self._widget.set_interval(1.0, self._tick, pause=not is_needed)
        else:
            (self._timer.resume if is_needed else self._timer.pause)()


_STYLE: Final = "bold $sign-running"


def scroll_hint(words: str, action: str) -> Content:
    """Return an arrow and the words, which run the action when they are clicked; nothing without words."""
    if not words:
        return Content("")
    return Content.styled(f"↓ {words}", _STYLE).stylize(Style.from_meta({"@click": action}))
