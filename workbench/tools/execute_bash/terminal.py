"""One pseudo terminal with a guarded bash in it: bytes in, bytes out, keys and modes; used by `shell`."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pexpect
from pexpect import fdpexpect

from workbench.processes.start import small_python, start

_PATIENCE = 6.0  # the supervisor itself gives up after 5 s


class Guard:
    """A supervisor process and the shell `argv` below it, on the terminal `pty`.

    Should this process die, the supervisor ends everything and removes `scratch`.
    """

    def __init__(self, argv: Sequence[str], pty: int, folder: str, env: Mapping[str, str], scratch: Path) -> None:
        self._channel, theirs = socket.socketpair()
        command = [
            *small_python("workbench.processes.shell_supervisor"),
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
        """What to poll to learn that the supervisor spoke; then call `hear()`."""
        return self._channel.fileno()

    def hear(self) -> None:
        """Take in what the supervisor says: the shell's pid, its exit code, answers to questions."""
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
        """Whether the supervisor answers: it cannot once it was killed, even when its death has not arrived yet."""
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
        """A command may have stopped the supervisor."""
        with contextlib.suppress(OSError):
            self._process.send_signal(signal.SIGCONT)

    def hang_up(self) -> None:
        """Tell the supervisor to end everything; returns at once."""
        self._wake()
        with contextlib.suppress(OSError):
            self._channel.send(b"k")
            self._channel.shutdown(socket.SHUT_RDWR)

    def close(self) -> bool:
        """Wait until everything below is gone; false when the supervisor could not do its part."""
        self.hang_up()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._channel.close()
        return self._process.returncode == 0


_CHUNK = 65536
_ROWS, _COLUMNS = 40, 120


class Terminal:
    """Runs `argv` under a supervisor in a terminal of its own; one thread at a time may read and write."""

    def __init__(self, argv: Sequence[str], folder: str, env: Mapping[str, str], scratch: Path) -> None:
        self._master, pty = os.openpty()
        try:
            self._modes = _plain_modes(pty)
            termios.tcsetwinsize(pty, (_ROWS, _COLUMNS))
            self.guard = Guard(argv, pty, folder, env, scratch)
        except BaseException:
            os.close(self._master)
            raise
        finally:
            os.close(pty)
        os.set_blocking(self._master, False)
        self._spawn = fdpexpect.fdspawn(
            self._master, timeout=None, maxread=_CHUNK, searchwindowsize=4096, use_poll=True
        )
        self._spawn.delaybeforesend = None
        self._poll = self.poll()
        self.hung_up = False  # nobody has the terminal open any more

    def poll(self) -> select.poll:
        """Something to wait with until there is something to read."""
        poll = select.poll()
        for number in (self._master, self.guard.fileno()):
            poll.register(number, select.POLLIN)
        return poll

    def read(self, seconds: float) -> bytes:
        """What comes within `seconds`; empty when nothing does, or when only the supervisor spoke."""
        ready = {number for number, _ in self._poll.poll(max(0.0, seconds) * 1000)}
        if self.guard.fileno() in ready:
            self.guard.hear()
            if self.guard.lost:
                self._poll.unregister(self.guard.fileno())
        if self._master not in ready:
            return b""
        try:
            data = self._spawn.read_nonblocking(_CHUNK, 0)
            return data if isinstance(data, bytes) else b""  # bytes, as no encoding was given
        except pexpect.TIMEOUT:
            return b""
        except pexpect.EOF:
            self._poll.unregister(self._master)
            self.hung_up = True
            return b""

    def write(self, data: bytes, seconds: float = 2.0) -> bool:
        """Type the bytes; false when the other side did not take all of them in time."""
        room = select.poll()
        room.register(self._master, select.POLLOUT)
        until = time.monotonic() + seconds
        while data and time.monotonic() < until:
            try:
                data = data[os.write(self._master, data) :]
            except BlockingIOError:
                room.poll(50)
            except OSError:
                return False
        return not data

    def foreground(self) -> int:
        """The process group that has the terminal; 0 when there is none."""
        try:
            return os.tcgetpgrp(self._master)
        except OSError:
            return 0

    def is_shells(self) -> bool:
        """Whether the shell itself has the terminal, and no command of it."""
        return self.foreground() == self.guard.pid

    def press_interrupt(self) -> None:
        """C-c; as a signal where a program made the terminal pass the key through."""
        if not (self._has_mode(termios.ISIG) and self.write(b"\x03", 0.05)):
            self.signal_foreground(signal.SIGINT)

    def signal_foreground(self, number: int) -> None:
        """Send a signal to the group in the foreground, unless that is the shell itself."""
        group = self.foreground()
        if group > 1 and group != self.guard.pid:
            with contextlib.suppress(OSError):
                os.killpg(group, number)

    def takes_lines(self) -> bool:
        """Whether the terminal is in line mode, where a line has at most 4,095 bytes and ends with a newline."""
        return self._has_mode(termios.ICANON)

    def _has_mode(self, flag: int) -> bool:
        try:
            return bool(termios.tcgetattr(self._master)[3] & flag)
        except termios.error:
            return False

    def mend_modes(self) -> None:
        """Undo what a command did to the terminal (`stty raw -echo`)."""
        with contextlib.suppress(termios.error):
            if termios.tcgetattr(self._master) != self._modes:
                termios.tcsetattr(self._master, termios.TCSANOW, self._modes)

    def close(self) -> bool:
        """End the shell and all it started, free the terminal; false when the supervisor could not do its part."""
        clean = self.guard.close()
        self._spawn.close()
        return clean


def _plain_modes(pty: int) -> list[int | list[bytes | int]]:
    """No echo, newlines as they are; C-s, C-q and C-v are keys like others."""
    modes = termios.tcgetattr(pty)
    modes[6][termios.VLNEXT] = b"\0"
    modes[0] &= ~termios.IXON
    modes[1] &= ~termios.ONLCR
    modes[3] &= ~(termios.ECHO | termios.ECHOE | termios.ECHOK | termios.ECHOCTL)
    termios.tcsetattr(pty, termios.TCSANOW, modes)
    return termios.tcgetattr(pty)
