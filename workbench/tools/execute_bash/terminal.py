"""One pseudo terminal with a guardian and a bash in it: bytes in, bytes out, and whether the shell still lives."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pexpect
from pexpect import fdpexpect

_GUARDIAN = Path(__file__).with_name("guardian.py")
_CHUNK = 65536
_PATIENCE = 5.0
_ROWS, _COLUMNS = 40, 120


class Terminal:
    """Runs `argv` under a guardian in a terminal of its own; one thread at a time may read and write.

    Should this process die, the guardian ends everything and removes `scratch`.
    """

    def __init__(self, argv: Sequence[str], folder: str, env: Mapping[str, str], scratch: Path) -> None:
        master, pty = os.openpty()
        ours, theirs = socket.socketpair()
        try:
            self._modes = _plain_modes(pty)
            termios.tcsetwinsize(pty, (_ROWS, _COLUMNS))
            command = [sys.executable, "-I", "-S", str(_GUARDIAN), str(theirs.fileno()), str(pty), str(scratch), *argv]
            self._guardian = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=folder,
                env=dict(env),
                pass_fds=(theirs.fileno(), pty),
                start_new_session=True,
            )
        except BaseException:
            os.close(master)
            ours.close()
            raise
        finally:
            os.close(pty)
            theirs.close()
        self._master, self._channel = master, ours
        os.set_blocking(master, False)
        self._spawn = fdpexpect.fdspawn(master, timeout=None, maxread=_CHUNK, searchwindowsize=4096, use_poll=True)
        self._spawn.delaybeforesend = None
        self._poll = select.poll()
        self._poll.register(master, select.POLLIN)
        self._poll.register(ours, select.POLLIN)
        self._heard = b""
        self._answers = 0
        self.pid = 0
        self.status: int | None = None
        self.lost = False  # the guardian is gone without a word
        self.hung_up = False  # nobody has the terminal open any more

    @property
    def ended(self) -> bool:
        """Whether the shell is gone."""
        return self.status is not None or self.lost

    def fds(self) -> tuple[int, int]:
        """What to poll to learn that there is something to read."""
        return self._master, self._channel.fileno()

    def read(self, seconds: float) -> bytes:
        """What comes within `seconds`; empty when nothing does, or when only the guardian spoke."""
        ready = {number for number, _ in self._poll.poll(max(0.0, seconds) * 1000)}
        if self._channel.fileno() in ready:
            self._hear()
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

    def _hear(self) -> None:
        try:
            data = self._channel.recv(4096)
        except OSError:
            data = b""
        if not data:
            self.lost = True
            self._poll.unregister(self._channel)
        self._answers += data.count(b".")
        *lines, self._heard = (self._heard + data.replace(b".", b"")).split(b"\n")
        for line in lines:
            kind, _, number = line.partition(b" ")
            if kind == b"P":
                self.pid = int(number)
            elif kind == b"E":
                self.status = int(number)

    def is_guarded(self, seconds: float = 1.0) -> bool:
        """Whether the guardian answers: it cannot once it was killed, even when its death has not arrived yet."""
        until = time.monotonic() + seconds
        wanted = self._answers + 1
        with contextlib.suppress(OSError):
            self._channel.send(b"?")
        if not select.select([self._channel], [], [], seconds / 2)[0]:
            self._wake()
        while not self.ended and self._answers < wanted and time.monotonic() < until:
            if select.select([self._channel], [], [], 0.1)[0]:
                self._hear()
        return not self.ended

    def _wake(self) -> None:
        """A command may have stopped the guardian."""
        with contextlib.suppress(OSError):
            self._guardian.send_signal(signal.SIGCONT)

    def write(self, data: bytes, seconds: float = 2.0) -> bool:
        """Type the bytes; false when the other side did not take all of them in time."""
        until = time.monotonic() + seconds
        while data and time.monotonic() < until:
            try:
                data = data[os.write(self._master, data) :]
            except BlockingIOError:
                select.select([], [self._master], [], 0.05)
            except OSError:
                return False
        return not data

    def foreground(self) -> int:
        """The process group that has the terminal; 0 when there is none."""
        try:
            return os.tcgetpgrp(self._master)
        except OSError:
            return 0

    def press_interrupt(self) -> None:
        """C-c; as a signal where a program made the terminal pass the key through."""
        try:
            is_key = bool(termios.tcgetattr(self._master)[3] & termios.ISIG)
        except termios.error:
            is_key = False
        if not (is_key and self.write(b"\x03", 0.05)):
            self.signal_foreground(signal.SIGINT)

    def signal_foreground(self, number: int) -> None:
        """Send a signal to the group in the foreground, unless that is the shell itself."""
        group = self.foreground()
        if group > 1 and group != self.pid:
            with contextlib.suppress(OSError):
                os.killpg(group, number)

    def takes_lines(self) -> bool:
        """Whether the terminal is in line mode, where a line has at most 4,095 bytes."""
        try:
            return bool(termios.tcgetattr(self._master)[3] & termios.ICANON)
        except termios.error:
            return False

    def mend_modes(self) -> None:
        """Undo what a command did to the terminal (`stty raw -echo`)."""
        with contextlib.suppress(termios.error):
            if termios.tcgetattr(self._master) != self._modes:
                termios.tcsetattr(self._master, termios.TCSANOW, self._modes)

    def hang_up(self) -> None:
        """Tell the guardian to end everything; returns at once."""
        self._wake()
        with contextlib.suppress(OSError):
            self._channel.send(b"k")
            self._channel.shutdown(socket.SHUT_RDWR)

    def close(self) -> bool:
        """End the shell and everything it started, free the terminal; false when the guardian could not do its part."""
        self.hang_up()
        try:
            self._guardian.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._guardian.kill()
            self._guardian.wait()
        self._channel.close()
        self._spawn.close()
        return self._guardian.returncode == 0


def _plain_modes(pty: int) -> list[int | list[bytes | int]]:
    """No echo, newlines as they are, C-s and C-q without effect."""
    modes = termios.tcgetattr(pty)
    modes[0] &= ~termios.IXON
    modes[1] &= ~termios.ONLCR
    modes[3] &= ~(termios.ECHO | termios.ECHOE | termios.ECHOK | termios.ECHOCTL)
    termios.tcsetattr(pty, termios.TCSANOW, modes)
    return termios.tcgetattr(pty)
