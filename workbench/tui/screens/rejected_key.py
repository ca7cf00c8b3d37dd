"""Opens the form for another API key when a run ends because the model's key was missing or rejected."""

from __future__ import annotations

from textual.screen import Screen

from workbench.tui.widgets.prompt import Prompt
from workbench.view.state import Changed, SessionState


class RejectedKeyOpener:
    """Opens the form once for each rejection, and only while the prompt is empty; later, Enter opens it at any time."""

    def __init__(self, screen: Screen[None], state: SessionState) -> None:
        self._screen = screen
        self._state = state
        self._handled = 0
        """The event with the last rejection that was seen."""

    def refresh(self, changed: Changed | None) -> None:
        """Open the form if the API key was rejected just now; `changed` is None if the history was loaded."""
        rejected = self._state.rejected_key
        if rejected is None or rejected.seq == self._handled or not self._state.has_control:
            return
        self._handled = rejected.seq
        is_free = self._screen.app.screen is self._screen and not self._screen.query_one(Prompt).text
        if changed is not None and is_free:
            self._screen.call_later(self._screen.run_action, "app.replace_key(True)")
