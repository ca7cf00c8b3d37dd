"""The answer of a run, collected from its events; for programs and runs without a screen."""

from __future__ import annotations

from workbench.protocol.events import ActionObserved, Event, ModelResponded, RunEnded
from workbench.session.storage.event_rows import observed_text


class FinalAnswer:
    """The answer of a run: the message of the tool that ended it, in full, or else the model's last text."""

    def __init__(self) -> None:
        self.text = ""
        self._result = ""

    def apply(self, event: Event) -> None:
        """Consume the next event; never raises, whatever the order of events is."""
        match event:
            case ModelResponded():
                self.text = event.text.strip() or self.text
            case ActionObserved() if event.ran:
                self._result = observed_text(event.observation).strip()
            case RunEnded(reason="finished"):  # its detail is only the first line
                self.text = self._result or event.detail or self.text
