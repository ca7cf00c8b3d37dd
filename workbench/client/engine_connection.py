"""A connection to a session's engine over its socket, after its greeting; without an event loop, so that it is soon
imported where a process only passes on bytes.
"""

from __future__ import annotations

import contextlib
import json
import select
import socket
import threading
import time
from collections.abc import Callable, Sequence

from workbench.engine.launch import EngineRefused, Launch, start_engine
from workbench.engine.sockets import connect
from workbench.errors import WorkbenchError
from workbench.protocol.codec import encode
from workbench.protocol.commands import Command, Hello, Message, decode_hello, decode_message
from workbench.session.session_names import socket_path

_GREETING = 30.0
_SILENCE_MS = 1_000
_NOT_RUNNING = "The session is not running any more, and is not started from here"


class EngineGone(WorkbenchError):
    """The connection ended: the engine stopped, was killed, or the client closed the connection."""


class EngineConnection:
    """A connection after its greeting. One thread may call `receive` while others call `send_command` and `close`."""

    def __init__(self, connected: socket.socket, hello: Hello, rest: bytes = b"") -> None:
        self._socket = connected
        self._rest = rest
        self._sending = threading.Lock()
        self._is_closed = False
        self.engine_pid = hello.pid
        self.last_seq = hello.seen
        self.notices = hello.notices

    @classmethod
    def open(
        cls, launch: Launch, *, last_seq: int = 0, is_viewer: bool = False, timeout: float = _GREETING
    ) -> EngineConnection:
        """Connect to the session's engine, starting it if none runs; it first sends the events after `last_seq`.

        A viewer starts no engine, nor does a launch that says so. `timeout` is in seconds. Raises EngineRefused with
        one line if the engine cannot serve the session.
        """
        path = socket_path(launch.locations, launch.session_id)
        until = time.monotonic() + timeout
        hello = Hello(seen=last_seq, is_viewer=is_viewer, checks_unsaved=launch.checks_unsaved)
        while time.monotonic() < until:
            connection = connect(path, timeout)
            if connection is None and (is_viewer or not launch.starts_engine):
                raise EngineRefused(_NOT_RUNNING)
            if connection is None:
                # Raises if the engine refuses, for instance because another process holds the session.
                start_engine(launch)
                connection = connect(path, timeout)
            greeted = _greet(connection, hello) if connection else None
            if greeted is not None:
                return greeted
            # The engine was about to end: the next one can start once it has released the session.
            time.sleep(0.05)
        raise EngineRefused(f"the engine does not answer on {path}")

    def send_command(self, command: Command) -> None:
        """Send a command; a refusal arrives through `receive`. Raises EngineGone if the connection has ended."""
        try:
            with self._sending:
                self._socket.sendall(encode(command) + b"\n")
        except OSError as error:
            raise EngineGone("the engine has ended") from error

    def receive(self, on_silence: Callable[[], None] | None = None) -> Sequence[Message]:
        """Wait for at least one message; call `on_silence` after each second without one.

        Raises EngineGone when the connection ends, also through `close`.
        """
        while b"\n" not in self._rest:
            if on_silence is not None:
                self._wait(on_silence)
            self._rest += self._read()
        *lines, self._rest = self._rest.split(b"\n")
        return [decode_message(line) for line in lines]

    def detach(self) -> tuple[socket.socket, bytes]:
        """Return the socket and the bytes that `receive` has not returned; the connection is not used any more."""
        rest, self._rest = self._rest, b""
        return self._socket, rest

    def finish(self) -> None:
        """Close the sending direction; what was sent still arrives."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Close the connection; a waiting `receive` raises EngineGone. May be called twice."""
        if self._is_closed:
            return
        self._is_closed = True
        with contextlib.suppress(OSError):  # the engine closed it first
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _wait(self, on_silence: Callable[[], None]) -> None:
        """Wait until there is something to read, or the connection ends."""
        poll = select.poll()
        try:
            poll.register(self._socket, select.POLLIN)
        except (OSError, ValueError):
            # It is closed, which reading reports.
            return
        while not poll.poll(_SILENCE_MS):
            on_silence()

    def _read(self) -> bytes:
        try:
            data = self._socket.recv(1 << 18)
        except OSError as error:
            raise EngineGone("the connection to the engine is closed") from error
        if not data:
            raise EngineGone("the engine has ended")
        return data


def _greet(connection: socket.socket, hello: Hello) -> EngineConnection | None:
    """Send the greeting and wait for the answer; return None if the engine was about to end.

    Raises EngineRefused if the engine refuses.
    """
    data = b""
    try:
        connection.sendall(encode(hello) + b"\n")
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
