"""The user's messages on their way to the model: added to the log, and withdrawn while no model call includes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from workbench.protocol.events import CustomCommand, MessageWithdrawn, UserMessage
from workbench.session.actions.decide import CommandError
from workbench.session.log import Log
from workbench.session.mentions import message
from workbench.session.turn.context_window import ModelContext
from workbench.session.turn.turn import ModelTurn


class MessageQueue:
    """Adds the user's messages to the log, and withdraws those that no model call has included yet."""

    def __init__(
        self,
        log: Log,
        context: ModelContext,
        turn: ModelTurn,
        announce: Callable[[], None],
    ) -> None:
        """`turn` checks what models accept; `announce` reports the session's state."""
        self._log = log
        self._context = context
        self._turn = turn
        self._announce = announce

    def add(self, text: str, mentions: Sequence[str], command: CustomCommand | None = None) -> None:
        """Add a message, and read the files it mentions. Raises CommandError, UnusableImage or ModelError."""
        if not text.strip():
            raise CommandError("there is no text to send")
        self.repeat(replace(message(self._log.state.workspace, text, mentions), command=command))

    def repeat(self, event: UserMessage) -> None:
        """Add a message with the files and images already in it. Raises CommandError or ModelError."""
        model = event.command.model if event.command else ""
        self._turn.check_model(model or None)
        self._turn.check_images(event.image_names, model or self._log.state.model)
        with self._log.lock:
            self._log.commit(event)
            self._announce()

    def withdraw(self, seq: int) -> None:
        """Withdraw the message of event `seq`. Raises CommandError if it was already sent, or if it has started the
        run.
        """
        state, history = self._log.state, self._context.history
        with self._log.lock:
            self._log.save()
            if seq not in state.unread or not any(each == seq for each, _ in history.unsent):
                raise CommandError("the agent already has that message; it cannot be removed from the queue")
            if state.is_running and state.steps == 0 and seq == state.unread[0]:
                raise CommandError("the agent has just started on that message; Esc stops it")
            self._log.commit(MessageWithdrawn(message=seq))
            self._announce()
