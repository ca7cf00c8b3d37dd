"""The engine's side of a program supervisor: after `close`, the program and everything it started have ended."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import threading
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import IO

from workbench.processes.launch import Launcher, ProgramStart
from workbench.processes.shell_environment import shell_environment
from workbench.processes.spawn import small_python, start
from workbench.processes.sweep import sweep

_PATIENCE = 15.0


def start_supervisor(
    module: str,
    arguments: Sequence[str],
    program: ProgramStart,
    *,
    cwd: str | Path,
    passed: Sequence[int] = (),
    stdout: int = subprocess.DEVNULL,
    stderr: int = subprocess.DEVNULL,
) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """Start a supervisor and return it with our end of its socket.

    Its command line is the descriptor of the socket's other end, the words of the sandbox, `arguments` and the
    program's command line. It inherits the descriptors in `passed`. When our end is closed, it kills the processes that
    it runs.
    """
    channel, theirs = socket.socketpair()
    try:
        process = start(
            [*small_python(module), str(theirs.fileno()), program.words, *arguments, *program.argv],
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            cwd=cwd,
            env=program.env,
            is_users=True,
            pass_fds=(theirs.fileno(), *passed, *program.descriptors),
            start_new_session=True,
        )
    except BaseException:
        channel.close()
        raise
    finally:
        theirs.close()
    return process, channel


def received(channel: socket.socket) -> bytes:
    """Return the bytes that a supervisor has written to its socket; empty once it has ended."""
    try:
        return channel.recv(4096)
    except OSError:
        return b""


class SupervisedProcess:
    """A program under a supervisor, which kills the program if this process dies. `hang_up` may be called from any
    thread.
    """

    def __init__(
        self,
        argv: Sequence[str],
        directory: Path,
        *,
        hidden_env: Collection[str] = (),
        env: Mapping[str, str] | None = None,
        passed: Sequence[int] = (),
        memory: int = 0,
        joined: bool = False,
        sandbox: Launcher | None = None,
        writable: Sequence[Path] = (),
    ) -> None:
        """Start the program with `env` added to the cleaned environment; `joined` sends its stderr to stdout.

        `hidden_env` are variables to remove, `passed` descriptors to inherit, `memory` is a limit in bytes (0: none),
        and `writable` are directories that the program may write to although it is in the sandbox. Raises OSError.
        """
        self._nonce = secrets.token_hex(16)
        self._lock = threading.Lock()
        self._report = b""
        variables = {**shell_environment(os.environ, self._nonce, hidden_env), **(env or {})}
        starting = sandbox.launch(argv, directory, variables, writable=writable) if sandbox else None
        with starting or nullcontext(ProgramStart(argv, variables)) as program:
            self._supervisor, self._channel = start_supervisor(
                "workbench.processes.program_supervisor",
                [",".join(str(number) for number in passed), str(memory)],
                program,
                cwd=directory,
                passed=passed,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT if joined else subprocess.PIPE,
            )

    @property
    def stdout(self) -> IO[bytes]:
        """The read end of the program's standard output."""
        assert self._supervisor.stdout is not None
        return self._supervisor.stdout

    @property
    def stderr(self) -> IO[bytes]:
        """The read end of the program's standard error, unless that is joined to standard output."""
        assert self._supervisor.stderr is not None
        return self._supervisor.stderr

    @property
    def status(self) -> int | None:
        """The exit status, negative for a signal; None while the program runs, or if it was killed by `hang_up` or
        `close`.
        """
        return self._reported(b"E")

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when the supervisor writes; call `hear` then."""
        return self._channel.fileno()

    def hear(self) -> bool:
        """Read the supervisor's reports; return False once the supervisor and all its descendants have ended."""
        data = received(self._channel)
        self._report += data
        if not data and self._supervisor.wait() != 0:
            # The supervisor was killed, perhaps by the program.
            sweep([self._nonce])
        return bool(data)

    def send_signal(self, number: signal.Signals) -> None:
        """Send the signal to the program and its process group."""
        pid = self._reported(b"P")
        if pid and self.status is None:
            with contextlib.suppress(OSError):
                os.killpg(pid, number)

    def _reported(self, kind: bytes) -> int | None:
        lines = [line.split() for line in self._report.split(b"\n")[:-1]]
        return next((int(words[1]) for words in lines if words[0] == kind), None)

    def hang_up(self) -> None:
        """Start ending the program and everything it started; returns at once."""
        with self._lock, contextlib.suppress(OSError):
            if self._channel.fileno() >= 0:
                self._channel.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """End the program and wait until all descendants of the supervisor have ended."""
        with self._lock:
            self._channel.close()
        try:
            is_clean = self._supervisor.wait(_PATIENCE) == 0
        except subprocess.TimeoutExpired:
            self._supervisor.kill()
            self._supervisor.wait()
            is_clean = False
        if not is_clean:
            sweep([self._nonce])
        for pipe in (self._supervisor.stdout, self._supervisor.stderr):
            if pipe:
                pipe.close()
