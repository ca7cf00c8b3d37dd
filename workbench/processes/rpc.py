"""A supervised program that answers requests over a socket, one JSON line each; used for cells and the browser.

Its standard output goes through a separate pipe, so nothing it prints can be mistaken for an answer.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from workbench.processes.launch import Launcher
from workbench.processes.supervised_process import SupervisedProcess

Message: TypeAlias = dict[str, Any]
End: TypeAlias = Literal["answer", "time", "stop", "gone"]
"""How the wait for an answer ended: with the answer, by timeout, because of `stop`, or because the program has
ended.
"""

_CHUNK = 1 << 16
_LONGEST_LINE = 1 << 27
_POLL_SECONDS = 0.25


class RpcWorker:
    """A running program. One thread at a time may send requests; `stop` and `hang_up` may be called from any thread."""

    def __init__(
        self,
        argv: Callable[[int], Sequence[str]],
        directory: Path,
        *,
        hidden_env: Collection[str] = (),
        env: Mapping[str, str] | None = None,
        sandbox: Launcher | None = None,
        writable: Sequence[Path] = (),
    ) -> None:
        """Start the program; `argv` receives the descriptor of the program's socket and returns the command line.

        `hidden_env` are variables to remove, `env` variables to add, and `writable` directories that the program may
        write to although it is in the sandbox. Raises OSError.
        """
        self._socket, theirs = socket.socketpair()
        self._stop_read, self._stop_write = os.pipe()
        self._buffer = bytearray()
        self._asked = 0
        self._is_gone = False
        try:
            with theirs:
                words = argv(theirs.fileno())
                passed = (theirs.fileno(),)
                self._process = SupervisedProcess(
                    words,
                    directory,
                    hidden_env=hidden_env,
                    env=env,
                    passed=passed,
                    joined=True,
                    sandbox=sandbox,
                    writable=writable,
                )
        except BaseException:
            self._close_pipes()
            raise
        os.set_blocking(self._process.stdout.fileno(), False)
        os.set_blocking(self._stop_read, False)

    @property
    def is_gone(self) -> bool:
        """Whether the program has ended or was closed."""
        return self._is_gone

    @property
    def status(self) -> int | None:
        """The exit status if the program ended on its own, negative for a signal; otherwise None."""
        return self._process.status

    def ask(self, request: Message) -> None:
        """Send a request; its answer is the message with the same id."""
        self._asked += 1
        self.notify({"id": self._asked, **request})

    def notify(self, message: Message) -> None:
        """Send a message that is not answered. If the program has ended, only `is_gone` is set."""
        try:
            self._socket.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            self._is_gone = True

    def answer(
        self,
        seconds: float,
        on_bytes: Callable[[bytes], None],
        on_message: Callable[[Message], None] = lambda message: None,
        is_held: Callable[[], bool] = lambda: False,
    ) -> tuple[End, Message]:
        """Wait for the answer to the last request, passing on the output and the messages that arrive before it.

        The `seconds` start again whenever `is_held` returns True. Returns how the wait ended, and the answer or an
        empty message. All output printed before the answer, or before the program's end, has been passed on by then.
        """
        until = time.monotonic() + seconds
        poll = select.poll()
        for number in (self._socket.fileno(), self._process.stdout.fileno(), self._process.fileno(), self._stop_read):
            poll.register(number, select.POLLIN)
        while not self._is_gone:
            if is_held():
                until = time.monotonic() + seconds
            remaining = until - time.monotonic()
            if remaining <= 0:
                return "time", {}
            ready = {number for number, _ in poll.poll(min(remaining, _POLL_SECONDS) * 1000)}
            if self._stop_read in ready:
                os.read(self._stop_read, _CHUNK)
                return "stop", {}
            if self._process.fileno() in ready:
                self._is_gone = not self._process.hear()
            answer = self._read_ready(ready, poll, on_bytes, on_message)
            if answer is not None:
                return "answer", answer
        self.drain(on_bytes)
        return "gone", {}

    def _read_ready(
        self,
        ready: set[int],
        poll: select.poll,
        on_bytes: Callable[[bytes], None],
        on_message: Callable[[Message], None],
    ) -> Message | None:
        """Read the available data; return the answer if it has arrived. A pipe at its end is no longer polled."""
        output, requests = self._process.stdout.fileno(), self._socket.fileno()
        if output in ready and self._read_output(on_bytes) is False:
            poll.unregister(output)
        if requests not in ready:
            return None
        data = self._received()
        if not data:
            poll.unregister(requests)
        answer = self._messages(data, on_message)
        if answer is not None:
            self.drain(on_bytes)
        return answer

    def _received(self) -> bytes:
        try:
            return self._socket.recv(1 << 20)
        except OSError:
            return b""

    def _messages(self, data: bytes, on_message: Callable[[Message], None]) -> Message | None:
        """Return the answer to the last request if `data` completes it, and pass on other messages.

        A line that is too long or cannot be parsed makes us end the program.
        """
        self._buffer += data
        while (cut := self._buffer.find(b"\n")) >= 0:
            line = bytes(self._buffer[:cut])
            del self._buffer[: cut + 1]
            try:
                message = json.loads(line)
                if message.get("id") == self._asked:
                    return dict(message)
                on_message(message)
            except (ValueError, AttributeError, RecursionError):
                self.hang_up()
        if len(self._buffer) > _LONGEST_LINE:
            self.hang_up()
        return None

    def drain(self, on_bytes: Callable[[bytes], None]) -> None:
        """Pass on all output printed so far."""
        for _ in range(1 << 14):
            if not self._read_output(on_bytes):
                return

    def _read_output(self, on_bytes: Callable[[bytes], None]) -> bool | None:
        """Pass on one chunk of output; return True, None if no output is available yet, or False at its end."""
        try:
            data = os.read(self._process.stdout.fileno(), _CHUNK)
        except BlockingIOError:
            return None
        except OSError:
            data = b""
        if data:
            on_bytes(data)
        return bool(data)

    def stop(self) -> None:
        """Interrupt the running call of `answer`, or else the next one."""
        os.write(self._stop_write, b"s")

    def forget_stop(self) -> None:
        """Discard a `stop` that came after the answer."""
        try:
            os.read(self._stop_read, _CHUNK)
        except BlockingIOError:
            return

    def press_interrupt(self) -> None:
        """Send SIGINT to the program and its process group, as C-c in a terminal does."""
        self._process.send_signal(signal.SIGINT)

    def hang_up(self) -> None:
        """Start ending the program and everything it started; returns at once."""
        self._process.hang_up()

    def close(self) -> None:
        """End the program and wait until none of its processes is left."""
        self._is_gone = True
        self._process.close()
        self._close_pipes()

    def _close_pipes(self) -> None:
        self._socket.close()
        for number in (self._stop_read, self._stop_write):
            os.close(number)
