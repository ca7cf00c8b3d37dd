"""The user's messages on their way to the engine."""

from __future__ import annotations

from collections.abc import Callable

from workbench.client.client import Client
from workbench.protocol.commands import SendMessage
from workbench.protocol.events import CustomCommand
from workbench.text import well_formed


class MessageSender:
    """Sends messages, and remembers each until it comes back as an event.

    Until `open` is called, after the history was read, messages wait: one that is already in the history would not come
    back.
    """

    def __init__(self, client: Client, mentions_of: Callable[[str], tuple[str, ...] | None]) -> None:
        """`mentions_of` returns the mentions in a message."""
        self._client = client
        self._mentions_of = mentions_of
        self._messages: list[SendMessage] = []
        self._is_open = False

    def __bool__(self) -> bool:
        return bool(self._messages)

    def send(self, text: str, command: CustomCommand | None = None) -> None:
        """Send a message, which may come from a custom command."""
        self._messages.append(SendMessage(text=text, mentions=self._mentions_of(text), command=command))
        if self._is_open:
            self._client.send(self._messages[-1])

    def open(self) -> None:
        """Send what waits, and from now on each message at once."""
        self._is_open = True
        for message in self._messages:
            self._client.send(message)

    def confirm(self, text: str) -> bool:
        """Forget a message with this text, which has come back; return whether it was sent from here."""
        sent = [well_formed(each.text) for each in self._messages]
        if (text := well_formed(text)) not in sent:
            return False
        del self._messages[sent.index(text)]
        return True

    def clear(self) -> None:
        """Forget all messages."""
        self._messages.clear()
