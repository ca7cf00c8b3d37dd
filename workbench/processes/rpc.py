"""A program below a keeper that answers requests, a JSON line each, on a socket of its own; for cells and browser.

What it prints goes another way, so that nothing it prints can be taken for an answer.
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

from workbench.processes.supervised import SupervisedProcess

Message: TypeAlias = dict[str, Any]
End: TypeAlias = Literal["answer", "time", "stop", "gone"]
"""How waiting ended: with an answer, at its time, because somebody asked to stop, or because the program is gone."""

_CHUNK = 1 << 16
_LONGEST_LINE = 1 << 27
_AT_A_TIME = 0.25


class RpcWorker:
    """The program; one thread at a time may ask, `stop` and `hang_up` may come from any."""

    def __init__(
        self,
        argv: Callable[[int], Sequence[str]],
        folder: Path,
        *,
        hidden_env: Collection[str] = (),
        env: Mapping[str, str] | None = None,
    ) -> None:
        """`argv` gives the program's words for the number of its socket."""
        self._socket, theirs = socket.socketpair()
        self._stop_read, self._stop_write = os.pipe()
        self._buffer = bytearray()
        self._asked = 0
        self._is_gone = False
        try:
            with theirs:
                words = argv(theirs.fileno())
                passed = (theirs.fileno(),)
                self._kept = SupervisedProcess(
                    words, folder, hidden_env=hidden_env, env=env, passed=passed, joined=True
                )
        except BaseException:
            self._close_pipes()
            raise
        os.set_blocking(self._kept.stdout.fileno(), False)
        os.set_blocking(self._stop_read, False)

    @property
    def is_gone(self) -> bool:
        """Whether it has ended."""
        return self._is_gone

    @property
    def status(self) -> int | None:
        """How it ended by itself; a signal is negative."""
        return self._kept.status

    def ask(self, request: Message) -> None:
        """Send a request; its answer is the message that carries its number."""
        self._asked += 1
        self.tell({"id": self._asked, **request})

    def tell(self, message: Message) -> None:
        """Send what needs no answer."""
        try:
            self._socket.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            self._is_gone = True

    def answer(
        self,
        seconds: float,
        on_bytes: Callable[[bytes], None],
        on_message: Callable[[Message], None] = lambda message: None,
    ) -> tuple[End, Message]:
        """Wait for the answer to the last request; what it prints and says on the way is passed on.

        At an answer and at the end all that it printed before has been passed on.
        """
        until = time.monotonic() + seconds
        poll = select.poll()
        for number in (self._socket.fileno(), self._kept.stdout.fileno(), self._kept.fileno(), self._stop_read):
            poll.register(number, select.POLLIN)
        while not self._is_gone:
            left = until - time.monotonic()
            if left <= 0:
                return "time", {}
            ready = {number for number, _ in poll.poll(min(left, _AT_A_TIME) * 1000)}
            if self._stop_read in ready:
                os.read(self._stop_read, _CHUNK)
                return "stop", {}
            if self._kept.fileno() in ready:
                self._is_gone = not self._kept.hear()
            found = self._take(ready, poll, on_bytes, on_message)
            if found is not None:
                return "answer", found
        self.drain(on_bytes)
        return "gone", {}

    def _take(
        self,
        ready: set[int],
        poll: select.poll,
        on_bytes: Callable[[bytes], None],
        on_message: Callable[[Message], None],
    ) -> Message | None:
        """What it printed and said; the answer when that is among it. What has ended is not polled any more."""
        output, said = self._kept.stdout.fileno(), self._socket.fileno()
        if output in ready and self._read_output(on_bytes) is False:
            poll.unregister(output)
        if said not in ready:
            return None
        data = self._received()
        if not data:
            poll.unregister(said)
        found = self._messages(data, on_message)
        if found is not None:
            self.drain(on_bytes)
        return found

    def _received(self) -> bytes:
        try:
            return self._socket.recv(1 << 20)
        except OSError:
            return b""

    def _messages(self, data: bytes, on_message: Callable[[Message], None]) -> Message | None:
        """The answer to the last request among the lines; one that cannot be read ends the program."""
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
        """Pass on what was printed until now."""
        for _ in range(1 << 14):
            if not self._read_output(on_bytes):
                return

    def _read_output(self, on_bytes: Callable[[bytes], None]) -> bool | None:
        """Pass on a piece; None when nothing is there now, False when nothing will come."""
        try:
            data = os.read(self._kept.stdout.fileno(), _CHUNK)
        except BlockingIOError:
            return None
        except OSError:
            data = b""
        if data:
            on_bytes(data)
        return bool(data)

    def stop(self) -> None:
        """End the waiting of `answer`, or the next one."""
        os.write(self._stop_write, b"s")

    def forget_stop(self) -> None:
        """A stop that came too late is for nobody."""
        try:
            os.read(self._stop_read, _CHUNK)
        except BlockingIOError:
            return

    def press_interrupt(self) -> None:
        """SIGINT, as C-c in a terminal gives it to the program and to what it runs."""
        self._kept.send_signal(signal.SIGINT)

    def hang_up(self) -> None:
        """End the program with all it started; returns at once."""
        self._kept.hang_up()

    def close(self) -> None:
        """End it, and wait until nothing is left."""
        self._is_gone = True
        self._kept.close()
        self._close_pipes()

    def _close_pipes(self) -> None:
        self._socket.close()
        for number in (self._stop_read, self._stop_write):
            os.close(number)
