"""Messages that were sent and are not in the log yet; they come back to the prompt when they cannot get there."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.text import well_formed
from workbench.tui.focusing import give_keys
from workbench.tui.widgets.prompt import Prompt
from workbench.view.state import Changed, NoticeItem, SessionState, UserItem


class Outbox:
    """Keeps what the user sent until it is in the log, so that an engine that fails loses none of it."""

    def __init__(self, state: SessionState) -> None:
        self._state = state
        self._pending: list[str] = []
        self._recalled: set[int] = set()

    @property
    def pending(self) -> Sequence[str]:
        """The messages that are not in the log yet."""
        return self._pending

    def add(self, text: str) -> None:
        """Keep a message that was sent, in the form in which the log will hold it."""
        self._pending.append(well_formed(text))

    def recall(self, seq: int) -> None:
        """Put the queued message of that event into the prompt once the log says that it is withdrawn."""
        self._recalled.add(seq)

    def restore(self, prompt: Prompt, changed: Changed | None) -> None:
        """Put what was recalled, refused or lost with the engine before what is being typed."""
        withdrawn = self._withdrawn(changed)
        if withdrawn:
            give_keys(prompt)
        text = "\n".join(filter(None, (*withdrawn, self._undelivered(changed))))
        if text:
            prompt.give_back(text)

    def _withdrawn(self, changed: Changed | None) -> list[str]:
        """Return the texts of recalled messages that are withdrawn now."""
        updated = changed.updated if changed is not None else []
        back = [
            each for each in updated if isinstance(each, UserItem) and each.withdrawn and each.seq in self._recalled
        ]
        self._recalled -= {item.seq for item in back}
        return [item.text for item in back]

    def _undelivered(self, changed: Changed | None) -> str:
        """Forget what is logged now; return what was refused, or lost with the engine, as one text."""
        added = changed.added if changed is not None else []
        for item in added:
            if isinstance(item, UserItem) and (text := well_formed(item.text)) in self._pending:
                self._pending.remove(text)
        refused = any(isinstance(item, NoticeItem) and item.refuses for item in added)
        if not self._pending or not (refused or self._state.work == "lost"):
            return ""
        text = "\n".join(self._pending)
        self._pending.clear()
        return text
