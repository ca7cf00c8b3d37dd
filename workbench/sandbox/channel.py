"""Sockets whose every wait has a time limit and ends when the proxy closes."""

from __future__ import annotations

import os
import select
import socket
import time
from collections.abc import Sequence


class ChannelEnded(Exception):
    """The other side closed the connection or was silent for too long, or the proxy is closing."""


class ProxyChannel:
    """A connected non-blocking socket; `stop` is a descriptor that becomes readable when the proxy closes."""

    def __init__(self, sock: socket.socket, stop: int) -> None:
        sock.setblocking(False)
        self.socket = sock
        self.stop = stop

    def wait(self, events: int, until: float) -> None:
        """Wait until the socket is ready for `events`. Raises ChannelEnded after `until`, a time of
        `time.monotonic`.
        """
        if not is_ready(self.socket, events, self.stop, until):
            raise ChannelEnded

    def peek(self, size: int, until: float) -> bytes:
        """Return up to `size` bytes that have arrived, and leave them to be read. Raises ChannelEnded."""
        return self._received(size, until, socket.MSG_PEEK)

    def read(self, size: int, until: float) -> bytes:
        """Read exactly `size` bytes. Raises ChannelEnded if they do not come in time."""
        data = bytearray()
        while len(data) < size:
            data += self._received(size - len(data), until)
        return bytes(data)

    def read_through(self, end: bytes, limit: int, until: float) -> bytes:
        """Read up to and including `end`, and nothing after it.

        Raises ChannelEnded if `end` does not come within `limit` bytes, or not in time.
        """
        data = bytearray()
        while True:
            searched = max(0, len(data) - len(end) + 1)
            ahead = self.peek(limit - len(data), until)
            position = (data + ahead).find(end, searched)
            size = len(ahead) if position < 0 else position + len(end) - len(data)
            data += self._received(size, until)
            if position >= 0:
                return bytes(data)
            if len(data) >= limit:
                raise ChannelEnded

    def send(self, data: bytes, until: float) -> None:
        """Send all of the data. Raises ChannelEnded if that takes until after `until`."""
        view = memoryview(data)
        while view:
            try:
                view = view[self.socket.send(view) :]
            except BlockingIOError:
                self.wait(select.POLLOUT, until)

    def is_gone(self) -> bool:
        """Return whether the other side has stopped sending, or the proxy is closing."""
        poll = select.poll()
        poll.register(self.socket, getattr(select, "POLLRDHUP", 0))
        poll.register(self.stop, select.POLLIN)
        return bool(poll.poll(0))

    def _received(self, size: int, until: float, flags: int = 0) -> bytes:
        while True:
            try:
                data = self.socket.recv(size, flags)
            except BlockingIOError:
                self.wait(select.POLLIN, until)
                continue
            if not data:
                raise ChannelEnded
            return data


def is_ready(sock: socket.socket, events: int, stop: int, until: float) -> bool:
    """Wait until the socket is ready for `events`; return False after `until` or when `stop` is readable."""
    poll = select.poll()
    poll.register(sock, events)
    poll.register(stop, select.POLLIN)
    ready = dict(poll.poll(max(0.0, until - time.monotonic()) * 1000))
    return stop not in ready and bool(ready)


def is_readable(descriptor: int) -> bool:
    """Return whether the descriptor is readable, or at its end, at this moment."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))


def connected(ips: Sequence[str], port: int, stop: int, seconds: float) -> socket.socket:
    """Return a socket connected to the first of the IP addresses that accepts; each is given `seconds` to answer.

    Raises OSError if none accepts, and ChannelEnded if the proxy closes.
    """
    fault: OSError = TimeoutError("it did not answer in time")
    for ip in ips:
        sock = socket.socket(socket.AF_INET6 if ":" in ip else socket.AF_INET, socket.SOCK_STREAM)
        try:
            _connect(sock, (ip, port), stop, time.monotonic() + seconds)
        except OSError as error:
            sock.close()
            fault = error
        except BaseException:
            sock.close()
            raise
        else:
            return sock
    raise fault


def _connect(sock: socket.socket, endpoint: tuple[str, int], stop: int, until: float) -> None:
    sock.setblocking(False)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    try:
        sock.connect(endpoint)
    except BlockingIOError:
        if not is_ready(sock, select.POLLOUT, stop, until):
            if is_readable(stop):
                raise ChannelEnded from None
            raise TimeoutError("it did not answer in time") from None
    code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if code:
        raise OSError(code, os.strerror(code))
