"""The front ends attached to an engine: which one may send commands, and what each has yet to receive."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from workbench.engine.broadcast import Outgoing
from workbench.protocol.codec import Data, encode
from workbench.protocol.events import EventBase

_SKIP_LIVE = 512_000
"""Bytes a front end may lag behind before it misses deltas."""
_DROP = 64_000_000
"""Bytes a front end may lag behind before it is disconnected; it reconnects and reads the log."""


class FrontEnd:
    """One connection; `last_seq` is the number of the last event sent to it."""

    def __init__(self, writer: asyncio.StreamWriter, last_seq: int) -> None:
        self._writer = writer
        self.last_seq = last_seq

    def forward(self, messages: Iterable[tuple[Outgoing, bytes]]) -> None:
        """Queue messages, without events that it already has; never waits.

        A front end that lags too far behind misses deltas; if it lags further, it is disconnected.
        """
        for message, line in messages:
            if isinstance(message, EventBase):
                if message.seq <= self.last_seq:
                    continue
                self.last_seq = message.seq
            elif self._lag() > _SKIP_LIVE:
                continue
            self._writer.write(line)
        if self._lag() > _DROP:
            self._writer.transport.abort()

    def send(self, message: Data) -> None:
        """Queue one protocol message (hello, refused, a prompt)."""
        self._writer.write(encode(message) + b"\n")

    def close(self) -> None:
        """Close the connection after the queued messages are sent."""
        self._writer.close()

    def _lag(self) -> int:
        return self._writer.transport.get_write_buffer_size()


class FrontEnds:
    """All attached front ends, in order of arrival; only the first may send commands."""

    def __init__(self) -> None:
        self._screens: list[FrontEnd] = []

    def __len__(self) -> int:
        return len(self._screens)

    def add(self, screen: FrontEnd) -> None:
        """Attach a front end."""
        self._screens.append(screen)

    def remove(self, screen: FrontEnd) -> None:
        """Detach a front end; the next one may send commands."""
        if screen in self._screens:
            self._screens.remove(screen)

    def may_send_commands(self, screen: FrontEnd) -> bool:
        """Return whether this front end is the one that may send commands."""
        return bool(self._screens) and self._screens[0] is screen

    def forward(self, messages: Sequence[Outgoing]) -> None:
        """Send messages to all front ends; each message is encoded once."""
        if not self._screens:
            return
        lines = [(message, encode(message) + b"\n") for message in messages]
        for screen in tuple(self._screens):
            screen.forward(lines)

    def close(self) -> None:
        """Close all connections."""
        for screen in self._screens:
            screen.close()
