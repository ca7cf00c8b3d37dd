"""Our end of the guardian: starts it with a shell below it, asks it to end everything; used by `terminal`."""

from __future__ import annotations

import contextlib
import select
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from workbench.processes.start import small_python, start

_PATIENCE = 6.0  # the guardian itself gives up after 5 s


class Guard:
    """A guardian process and the shell `argv` below it, on the terminal `pty`.

    Should this process die, the guardian ends everything and removes `scratch`.
    """

    def __init__(self, argv: Sequence[str], pty: int, folder: str, env: Mapping[str, str], scratch: Path) -> None:
        self._channel, theirs = socket.socketpair()
        command = [
            *small_python("workbench.processes.guardian"),
            str(theirs.fileno()),
            str(pty),
            str(scratch),
            *argv,
        ]
        try:
            self._process = start(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=folder,
                env=env,
                is_users=True,
                pass_fds=(theirs.fileno(), pty),
                start_new_session=True,
            )
        except BaseException:
            self._channel.close()
            raise
        finally:
            theirs.close()
        self._heard = b""
        self._answers = 0
        self.pid = 0
        self.status: int | None = None
        self.lost = False  # it is gone without a word

    @property
    def ended(self) -> bool:
        """Whether the shell is gone."""
        return self.status is not None or self.lost

    def fileno(self) -> int:
        """What to poll to learn that the guardian spoke; then call `hear()`."""
        return self._channel.fileno()

    def hear(self) -> None:
        """Take in what the guardian says: the shell's pid, its exit code, answers to questions."""
        try:
            data = self._channel.recv(4096)
        except OSError:
            data = b""
        self.lost = self.lost or not data
        self._answers += data.count(b".")
        *lines, self._heard = (self._heard + data.replace(b".", b"")).split(b"\n")
        for line in lines:
            kind, _, number = line.partition(b" ")
            if kind == b"P":
                self.pid = int(number)
            elif kind == b"E":
                self.status = int(number)

    def is_watching(self, seconds: float = 1.0) -> bool:
        """Whether the guardian answers: it cannot once it was killed, even when its death has not arrived yet."""
        until = time.monotonic() + seconds
        wanted = self._answers + 1
        poll = select.poll()
        poll.register(self._channel, select.POLLIN)
        with contextlib.suppress(OSError):
            self._channel.send(b"?")
        if not poll.poll(seconds * 500):
            self._wake()
        while not self.ended and self._answers < wanted and time.monotonic() < until:
            if poll.poll(100):
                self.hear()
        return not self.ended

    def _wake(self) -> None:
        """A command may have stopped the guardian."""
        with contextlib.suppress(OSError):
            self._process.send_signal(signal.SIGCONT)

    def hang_up(self) -> None:
        """Tell the guardian to end everything; returns at once."""
        self._wake()
        with contextlib.suppress(OSError):
            self._channel.send(b"k")
            self._channel.shutdown(socket.SHUT_RDWR)

    def close(self) -> bool:
        """Wait until everything below is gone; false when the guardian could not do its part."""
        self.hang_up()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._channel.close()
        return self._process.returncode == 0
