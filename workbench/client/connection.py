"""The other end of an engine's socket, for threads: start an engine if none runs, command it, receive its messages.

Used by the screen's link and by tests.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Sequence

from workbench.engine.launch import EngineRefused, Launch, start_engine
from workbench.engine.sockets import connect, socket_path
from workbench.errors import WorkbenchError
from workbench.protocol.codec import encode
from workbench.protocol.commands import Command, Hello, Message, decode_hello, decode_message

_GREETING = 30.0


class EngineGone(WorkbenchError):
    """The connection ended: the engine stopped, was killed, or this side closed it."""


class EngineConnection:
    """A connection that has said hello. One thread may `receive` while others `send_command` and `close`."""

    def __init__(self, connection: socket.socket, hello: Hello, rest: bytes = b"") -> None:
        self._socket = connection
        self._rest = rest
        self._sending = threading.Lock()
        self._is_closed = False
        self.engine_pid = hello.pid
        self.last_seq = hello.seen
        self.notices = hello.notices

    @classmethod
    def open(cls, launch: Launch, *, seen: int = 0, timeout: float = _GREETING) -> EngineConnection:
        """Connect to the session's engine, starting it when none runs; events after `seen` come first.

        Raises EngineRefused with one line when the engine cannot serve the session.
        """
        path = socket_path(launch.locations, launch.session_id)
        until = time.monotonic() + timeout
        while time.monotonic() < until:
            found = connect(path, timeout)
            if found is None:
                start_engine(launch)  # raises when it refuses, for instance because another process holds the session
                found = connect(path, timeout)
            greeted = _greet(found, seen) if found else None
            if greeted is not None:
                return greeted
            time.sleep(0.05)  # it was just ending: the next one starts when it gave the session free
        raise EngineRefused(f"the engine does not answer on {path}")

    def send_command(self, command: Command) -> None:
        """Give a command; its refusal comes back through `receive`. Raises EngineGone."""
        try:
            with self._sending:
                self._socket.sendall(encode(command) + b"\n")
        except OSError as error:
            raise EngineGone("the engine is gone") from error

    def receive(self) -> Sequence[Message]:
        """Wait for the next messages; at least one. Raises EngineGone at the end, also after `close`."""
        while b"\n" not in self._rest:
            self._rest += self._read()
        *lines, self._rest = self._rest.split(b"\n")
        return [decode_message(line) for line in lines]

    def close(self) -> None:
        """End the connection; a waiting `receive` returns with EngineGone. May be called twice."""
        if self._is_closed:
            return
        self._is_closed = True
        with contextlib.suppress(OSError):  # the engine was faster
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _read(self) -> bytes:
        try:
            data = self._socket.recv(1 << 18)
        except OSError as error:
            raise EngineGone("the connection to the engine is closed") from error
        if not data:
            raise EngineGone("the engine has ended")
        return data


def _greet(connection: socket.socket, seen: int) -> EngineConnection | None:
    """Say hello and wait for the answer; None when the engine was just ending."""
    data = b""
    try:
        connection.sendall(encode(Hello(seen=seen)) + b"\n")
        while b"\n" not in data:
            part = connection.recv(1 << 18)
            if not part:
                connection.close()
                return None
            data += part
        connection.settimeout(None)
    except OSError:
        connection.close()
        return None
    line, rest = data.split(b"\n", 1)
    try:
        return EngineConnection(connection, decode_hello(line), rest)
    except ValueError:
        connection.close()
        raise EngineRefused(str(json.loads(line).get("reason", "the engine answered something else"))) from None
