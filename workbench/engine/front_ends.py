"""The front ends attached to an engine: which one may give commands, and what each has still to be sent."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from workbench.engine.broadcast import Outgoing
from workbench.protocol.codec import Data, encode
from workbench.protocol.events import EventBase

_SKIP_LIVE = 512_000  # bytes a screen may lag behind before it misses deltas …
_DROP = 64_000_000  # … and before it is sent away; it comes back and reads the log


class FrontEnd:
    """One connection; `seen` is the last event it has."""

    def __init__(self, writer: asyncio.StreamWriter, seen: int) -> None:
        self._writer = writer
        self.seen = seen

    def give(self, messages: Iterable[tuple[Outgoing, bytes]]) -> None:
        """Queue messages it has not seen; never waits."""
        for message, line in messages:
            if isinstance(message, EventBase):
                if message.seq <= self.seen:
                    continue
                self.seen = message.seq
            elif self._lag() > _SKIP_LIVE:
                continue
            self._writer.write(line)
        if self._lag() > _DROP:
            self._writer.transport.abort()

    def say(self, message: Data) -> None:
        """Queue one message of the protocol (hello, refused, a prompt)."""
        self._writer.write(encode(message) + b"\n")

    def close(self) -> None:
        """Close the connection after what is queued."""
        self._writer.close()

    def _lag(self) -> int:
        return self._writer.transport.get_write_buffer_size()


class FrontEnds:
    """All of them, in the order in which they came; the first holds the pen."""

    def __init__(self) -> None:
        self._screens: list[FrontEnd] = []

    def __len__(self) -> int:
        return len(self._screens)

    def add(self, screen: FrontEnd) -> None:
        """A screen came."""
        self._screens.append(screen)

    def remove(self, screen: FrontEnd) -> None:
        """A screen left; the next one gets the pen."""
        if screen in self._screens:
            self._screens.remove(screen)

    def has_pen(self, screen: FrontEnd) -> bool:
        """Whether this screen may give commands."""
        return bool(self._screens) and self._screens[0] is screen

    def give(self, messages: Sequence[Outgoing]) -> None:
        """To everybody; each message becomes JSON once."""
        if not self._screens:
            return
        lines = [(message, encode(message) + b"\n") for message in messages]
        for screen in tuple(self._screens):
            screen.give(lines)

    def close(self) -> None:
        """Say good-bye to all."""
        for screen in self._screens:
            screen.close()
