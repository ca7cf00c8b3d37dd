"""Our end of a keeper: a program below it, and the certainty that nothing of it is left; used by tools that run one."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import threading
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import IO

from workbench.processes.start import small_python, start
from workbench.processes.sweep import shell_environment, sweep

_PATIENCE = 15.0


class SupervisedProcess:
    """A program under a keeper; should this process die, the keeper ends it. `hang_up` may come from another thread."""

    def __init__(
        self,
        argv: Sequence[str],
        folder: Path,
        *,
        hidden_env: Collection[str] = (),
        env: Mapping[str, str] | None = None,
        passed: Sequence[int] = (),
        memory: int = 0,
        joined: bool = False,
    ) -> None:
        """`env` is added to the environment without its keys; `joined` sends errors where the output goes."""
        self._nonce = secrets.token_hex(16)
        self._channel, theirs = socket.socketpair()
        self._lock = threading.Lock()
        self._said = b""
        numbers = ",".join(str(number) for number in passed)
        command = [
            *small_python("workbench.processes.program_supervisor"),
            str(theirs.fileno()),
            numbers,
            str(memory),
            *argv,
        ]
        try:
            self._keeper = start(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT if joined else subprocess.PIPE,
                cwd=folder,
                env={**shell_environment(os.environ, self._nonce, hidden_env), **(env or {})},
                is_users=True,
                pass_fds=(theirs.fileno(), *passed),
                start_new_session=True,
            )
        except BaseException:
            self._channel.close()
            raise
        finally:
            theirs.close()

    @property
    def stdout(self) -> IO[bytes]:
        """What the program prints."""
        assert self._keeper.stdout is not None
        return self._keeper.stdout

    @property
    def stderr(self) -> IO[bytes]:
        """Its errors, where they are not joined to the output."""
        assert self._keeper.stderr is not None
        return self._keeper.stderr

    @property
    def status(self) -> int | None:
        """How it ended, a signal is negative; None while it runs, and when it was ended from here."""
        return self._told(b"E")

    def fileno(self) -> int:
        """What to poll to learn that the keeper spoke; then call `hear`."""
        return self._channel.fileno()

    def hear(self) -> bool:
        """Take in what the keeper says; False once it is gone and all below it with it."""
        try:
            data = self._channel.recv(4096)
        except OSError:
            data = b""
        self._said += data
        if not data and self._keeper.wait() != 0:
            sweep([self._nonce])  # the program killed its keeper
        return bool(data)

    def send_signal(self, number: signal.Signals) -> None:
        """Give the signal to the program and to what it started in its group."""
        pid = self._told(b"P")
        if pid and self.status is None:
            with contextlib.suppress(OSError):
                os.killpg(pid, number)

    def _told(self, kind: bytes) -> int | None:
        lines = [line.split() for line in self._said.split(b"\n")[:-1]]
        return next((int(words[1]) for words in lines if words[0] == kind), None)

    def hang_up(self) -> None:
        """End it with all it started; returns at once."""
        with self._lock, contextlib.suppress(OSError):
            if self._channel.fileno() >= 0:
                self._channel.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """End it, and wait until everything below the keeper is gone."""
        with self._lock:
            self._channel.close()
        try:
            is_clean = self._keeper.wait(_PATIENCE) == 0
        except subprocess.TimeoutExpired:
            self._keeper.kill()
            self._keeper.wait()
            is_clean = False
        if not is_clean:
            sweep([self._nonce])
        for pipe in (self._keeper.stdout, self._keeper.stderr):
            if pipe:
                pipe.close()
