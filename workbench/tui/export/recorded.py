"""What an export is made of: the lines of a session up to an event, without secrets, and their fold."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

from workbench.protocol.events import Event, event_from_json
from workbench.security.secrets import Secrets
from workbench.session.storage.exchange import export_lines
from workbench.session.storage.store import Store
from workbench.text import visible
from workbench.tui.fold.state import SessionState
from workbench.tui.fold.story import apply


class Recorded:
    """A session from its first event to the one numbered `until` (all where it is None)."""

    def __init__(self, store: Store, until: int | None = None) -> None:
        self._store = store
        self._until = until
        self._secrets = Secrets()
        self._secrets.add_all(os.environ)  # the log masks what was known then; what is known now is masked too

    def lines(self) -> Iterator[str]:
        """One event a line, as JSON that holds no raw control character."""
        for number, line in enumerate(export_lines(self._store), 1):
            if self._until is not None and number > self._until:
                return
            yield self._clean(line)

    def events(self) -> Iterator[Event]:
        """The events that this version understands."""
        for line in self.lines():
            try:
                yield event_from_json(line)
            except ValueError:
                continue  # of a later version; the lines have it

    def state(self) -> SessionState:
        """What the screen would show of it."""
        state = SessionState()
        for event in self.events():
            apply(state, event)
        return state

    def _clean(self, line: str) -> str:
        is_open = self._secrets.masked(line) != line
        if not is_open and visible(line, lines=False) == line:
            return line
        data = json.loads(line)
        return json.dumps(self._secrets.masked_data(data) if is_open else data)
