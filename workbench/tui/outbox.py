"""Messages that were sent and are not in the log yet; they come back to the prompt when they cannot get there."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.text import well_formed
from workbench.tui.focusing import give_keys
from workbench.tui.widgets.prompt import Prompt
from workbench.view.state import Changed, NoticeItem, SessionState, UserItem


class Outbox:
    """Kept by the main screen, so that no engine that fails takes a person's words with it."""

    def __init__(self) -> None:
        self._unsent: list[str] = []
        self._wanted: set[int] = set()

    @property
    def texts(self) -> Sequence[str]:
        """What is on its way."""
        return self._unsent

    @property
    def count(self) -> int:
        """How many messages are on their way."""
        return len(self._unsent)

    def sent(self, text: str) -> None:
        """The message is on its way; kept as the log will hold it, so that it is recognised there."""
        self._unsent.append(well_formed(text))

    def want(self, seq: int) -> None:
        """The queued message of that event shall come back to the prompt."""
        self._wanted.add(seq)

    def take_back(self, prompt: Prompt, state: SessionState, changed: Changed | None) -> None:
        """What was sent and never reached the log stands in the prompt again, before what is being typed."""
        withdrawn = self._withdrawn(changed)
        if withdrawn:
            give_keys(prompt)
        text = "\n".join(filter(None, (*withdrawn, self._returned(state, changed))))
        if text:
            prompt.give_back(text)

    def _withdrawn(self, changed: Changed | None) -> list[str]:
        """The texts of those that were wanted back, and came."""
        updated = changed.updated if changed is not None else []
        back = [each for each in updated if isinstance(each, UserItem) and each.withdrawn and each.seq in self._wanted]
        self._wanted -= {item.seq for item in back}
        return [item.text for item in back]

    def _returned(self, state: SessionState, changed: Changed | None) -> str:
        """Strike off what is recorded; what was refused, or lost with the engine, comes back as one text."""
        added = changed.added if changed is not None else []
        for item in added:
            if isinstance(item, UserItem) and (text := well_formed(item.text)) in self._unsent:
                self._unsent.remove(text)
        refused = any(isinstance(item, NoticeItem) and item.refuses for item in added)
        if not self._unsent or not (refused or state.work == "lost"):
            return ""
        text = "\n".join(self._unsent)
        self._unsent.clear()
        return text
