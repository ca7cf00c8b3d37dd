"""Copies bytes between a client and a server in both directions, in one thread, until both have ended."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import socket
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Final, Protocol, TypeAlias

from workbench.sandbox.channel import ProxyChannel

_CHUNK: Final = 1 << 16
_PIPE: Final = 1 << 16
_LARGE_PIPE: Final = 1 << 20
_ROUNDS: Final = 16
"""The maximum number of reads and writes in one direction before the other gets its turn."""
IDLE: Final = 600.0
"""Seconds of silence in both directions after which a connection is closed."""
HALF_OPEN: Final = 60.0
"""Like `IDLE`, after one side has stopped sending."""


class ForwardedBody(Protocol):
    """What the client may send: anything in a tunnel, otherwise the body of its one request."""

    @property
    def is_complete(self) -> bool:
        """Whether the client may send nothing more."""

    def feed(self, data: bytes) -> int:
        """Return how many of the bytes to forward."""


class ResponseStart(Protocol):
    """Rewrites the start of what the server sends."""

    @property
    def is_past(self) -> bool:
        """Whether the start is over, so that all further bytes are forwarded unchanged."""

    def feed(self, data: bytes) -> bytes:
        """Return the bytes to forward, possibly none yet. Empty `data` means the end."""


Reserve: TypeAlias = Callable[[int], int]
"""Reserves the right to send up to so many bytes, and returns how many, at least 1. May wait for the user; raises if
refused.
"""


def relay(
    client: ProxyChannel,
    server: ProxyChannel,
    body: ForwardedBody,
    reserve: Reserve,
    *,
    head: bytes = b"",
    answer: ResponseStart | None = None,
    idle: float = IDLE,
    half_open: float = HALF_OPEN,
) -> None:
    """Copy until both directions have ended, or nothing was sent for too long.

    `head` is sent to the server first, and `answer` rewrites the start of what the server sends. `reserve` limits what
    is sent to the server; `idle` and `half_open` are the time limits in seconds. Raises OSError, and whatever `body` or
    `reserve` raises.
    """
    up = _Outgoing(client.socket, server.socket, body, reserve, head)
    with contextlib.closing(_incoming(server.socket, client.socket, answer)) as down:
        poll = select.poll()
        poll.register(client.stop, select.POLLIN)
        registered: dict[int, int] = {}
        while not (down.is_over and up.is_over):
            _register(poll, registered, client.socket.fileno(), up.reads | down.writes)
            _register(poll, registered, server.socket.fileno(), down.reads | up.writes)
            limit = half_open if down.has_ended or up.has_ended else idle
            ready = dict(poll.poll(limit * 1000))
            if not ready or client.stop in ready:
                return
            down.pump()
            up.pump()


def _register(poll: select.poll, registered: dict[int, int], descriptor: int, events: int) -> None:
    """Poll a descriptor for `events`; if there are none, unregister it, or an end that we have already seen would be
    reported.
    """
    if registered.get(descriptor, 0) == events:
        return
    if not events:
        poll.unregister(descriptor)
    elif registered.get(descriptor, 0):
        poll.modify(descriptor, events)
    else:
        poll.register(descriptor, events)
    registered[descriptor] = events


class _Flow(ABC):
    """One direction of the connection; subclasses define how bytes get into a buffer and out of it."""

    def __init__(self, source: socket.socket, target: socket.socket) -> None:
        self._source, self._target = source, target
        self.pending = 0
        """The number of bytes that were read but not yet written."""
        self.has_ended = False
        """Whether the source has stopped sending."""

    @property
    def is_over(self) -> bool:
        """Whether nothing more will be written."""
        return self.has_ended and not self.pending

    @property
    def reads(self) -> int:
        """The poll events of the source that this direction waits for."""
        return 0 if self.pending or self.is_over else select.POLLIN

    @property
    def writes(self) -> int:
        """The poll events of the target that this direction waits for."""
        return select.POLLOUT if self.pending else 0

    def pump(self) -> None:
        """Move bytes until a side would block, or the other direction must get its turn."""
        with contextlib.suppress(BlockingIOError):
            for _ in range(_ROUNDS):
                if self.is_over:
                    return
                if not self.pending:
                    self.pending = self._fill()
                    self.has_ended = self.has_ended or not self.pending
                if self.pending:
                    self.pending -= self._drain()
                if self.has_ended and not self.pending:
                    self._target.shutdown(socket.SHUT_WR)

    @abstractmethod
    def _fill(self) -> int:
        """Read into the buffer; return the number of bytes, 0 at the end of the source."""

    @abstractmethod
    def _drain(self) -> int:
        """Write from the buffer; return the number of bytes."""

    @abstractmethod
    def close(self) -> None:
        """Free the buffer."""


class _Buffered(_Flow):
    """A direction whose bytes are copied through this process's memory."""

    def __init__(self, source: socket.socket, target: socket.socket) -> None:
        super().__init__(source, target)
        self._data = memoryview(b"")

    def _fill(self) -> int:
        self._data = memoryview(self._source.recv(_CHUNK))
        return len(self._data)

    def _drain(self) -> int:
        size = self._target.send(self._data)
        self._data = self._data[size:]
        return size

    def close(self) -> None:
        """Discard the bytes that were not written."""
        self._data = memoryview(b"")


class _Outgoing(_Buffered):
    """The direction to the server; forwards only what `body` and `reserve` permit."""

    def __init__(
        self, source: socket.socket, target: socket.socket, body: ForwardedBody, reserve: Reserve, head: bytes
    ) -> None:
        super().__init__(source, target)
        self._body = body
        self._reserve = reserve
        self._reserved = 0
        self._data = memoryview(head)
        self.pending = len(head)

    @property
    def is_over(self) -> bool:
        """Whether nothing more will be written: the client has stopped sending, or its request is complete."""
        return not self.pending and (self.has_ended or self._body.is_complete)

    def _fill(self) -> int:
        data = self._source.recv(_CHUNK)
        self._data = memoryview(data)[: self._body.feed(data)]
        return len(self._data)

    def _drain(self) -> int:
        if not self._reserved:
            self._reserved = self._reserve(self.pending)
        size = self._target.send(self._data[: self._reserved])
        self._reserved -= size
        self._data = self._data[size:]
        return size


class _Spliced(_Flow):
    """A direction whose bytes stay in the kernel, in a pipe (splice(2), Linux)."""

    def __init__(self, source: socket.socket, target: socket.socket) -> None:
        super().__init__(source, target)
        self._out, self._in = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._size = _PIPE

    def _fill(self) -> int:
        flags = os.SPLICE_F_NONBLOCK | os.SPLICE_F_MOVE
        count = os.splice(self._source.fileno(), self._in, self._size, flags=flags)
        # The pipes of all of a user's processes share a limit, so only those that are filled get more of it.
        if count >= _PIPE and self._size == _PIPE:
            self._size = _LARGE_PIPE
            with contextlib.suppress(OSError):
                fcntl.fcntl(self._in, fcntl.F_SETPIPE_SZ, _LARGE_PIPE)
        return count

    def _drain(self) -> int:
        flags = os.SPLICE_F_NONBLOCK | os.SPLICE_F_MOVE
        return os.splice(self._out, self._target.fileno(), self.pending, flags=flags)

    def close(self) -> None:
        """Close the pipe."""
        os.close(self._in)
        os.close(self._out)


class _Changed(_Buffered):
    """A direction whose first bytes are rewritten by a `ResponseStart`."""

    def __init__(self, source: socket.socket, target: socket.socket, answer: ResponseStart) -> None:
        super().__init__(source, target)
        self._answer = answer

    def _fill(self) -> int:
        if self._answer.is_past:
            return super()._fill()
        data = self._source.recv(_CHUNK)
        self._data = memoryview(self._answer.feed(data))
        if data and not self._data:
            raise BlockingIOError  # more has to arrive before anything can be forwarded
        return len(self._data)


def _incoming(source: socket.socket, target: socket.socket, answer: ResponseStart | None) -> _Flow:
    if answer is not None:
        return _Changed(source, target, answer)
    return _Spliced(source, target) if hasattr(os, "splice") else _Buffered(source, target)
