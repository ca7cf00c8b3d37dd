"""Messages that were sent but are not in the log yet; they return to the prompt if they cannot be delivered."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.text import well_formed
from workbench.tui.focus import focus_now
from workbench.tui.widgets.prompt import Prompt
from workbench.view.state import Changed, SessionState, UserItem


class Outbox:
    """Keeps each sent message until it is in the log, so that none is lost if the engine fails."""

    def __init__(self, state: SessionState) -> None:
        self._state = state
        self._pending: list[str] = []
        self._recalled: set[int] = set()

    @property
    def pending(self) -> Sequence[str]:
        """The messages that are not in the log yet."""
        return self._pending

    def add(self, text: str) -> None:
        """Add a sent message, in the form in which it will be logged."""
        self._pending.append(well_formed(text))

    def recall(self, seq: int) -> None:
        """Mark the queued message of event `seq` to be put into the prompt once the log says that it is withdrawn."""
        self._recalled.add(seq)

    def restore(self, prompt: Prompt, changed: Changed | None) -> None:
        """Insert recalled, refused and lost messages into the prompt, before the text being typed."""
        withdrawn = self._withdrawn(changed)
        if withdrawn:
            focus_now(prompt)
        text = "\n".join(filter(None, (*withdrawn, self._undelivered(changed))))
        if text:
            prompt.restore_text(text)

    def _withdrawn(self, changed: Changed | None) -> list[str]:
        """Return the texts of recalled messages that `changed` reports as withdrawn."""
        updated = changed.updated if changed is not None else []
        back = [
            each for each in updated if isinstance(each, UserItem) and each.withdrawn and each.seq in self._recalled
        ]
        self._recalled -= {item.seq for item in back}
        return [item.text for item in back]

    def _undelivered(self, changed: Changed | None) -> str:
        """Forget logged messages; if one was refused or the engine is lost, remove the rest and return their text."""
        added = changed.added if changed is not None else []
        for item in added:
            if isinstance(item, UserItem) and (text := well_formed(item.text)) in self._pending:
                self._pending.remove(text)
        is_refused = changed is not None and bool(changed.refused)
        if not self._pending or not (is_refused or self._state.work == "lost"):
            return ""
        text = "\n".join(self._pending)
        self._pending.clear()
        return text
