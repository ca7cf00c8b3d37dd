"""What the person says to the agent: into the log, and out of it again while no call of the model has held it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from workbench.protocol.events import MessageWithdrawn
from workbench.session.actions.decide import Refused
from workbench.session.log import Journal
from workbench.session.mentions import message


class Messages:
    """Of one session; `check_images` raises Refused where the model cannot see, `announce` tells how it stands."""

    def __init__(
        self, journal: Journal, check_images: Callable[[Sequence[str]], None], announce: Callable[[], None]
    ) -> None:
        self._journal = journal
        self._check_images = check_images
        self._announce = announce

    def add(self, text: str, mentions: Sequence[str]) -> None:
        """A message, with the files it mentions. Raises Refused, UnusableImage."""
        if not text.strip():
            raise Refused("there is no text to send")
        said = message(self._journal.ledger.workspace, text, mentions)
        self._check_images(said.image_names)
        with self._journal.lock:
            self._journal.commit(said)
            self._announce()

    def withdraw(self, seq: int) -> None:
        """Take back the message of that event; raises Refused when it is too late, or the run began with it."""
        ledger, history = self._journal.ledger, self._journal.history
        with self._journal.lock:
            self._journal.save()
            if seq not in ledger.unread or not any(each == seq for each, _ in history.unsent):
                raise Refused("the agent has that message already; it cannot be taken back")
            if ledger.is_running and ledger.steps == 0 and seq == ledger.unread[0]:
                raise Refused("the agent has just begun with that message; esc stops it")
            self._journal.commit(MessageWithdrawn(message=seq))
            self._announce()
