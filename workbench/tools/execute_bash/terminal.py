"""A pseudo terminal that runs bash under a supervisor: reading, writing, keys and modes."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import termios
import time
import tty
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workbench.processes.launch import ProgramStart
from workbench.processes.spawn import run
from workbench.processes.supervised_process import received, start_supervisor
from workbench.tools.execute_bash.channel import ShellChannel
from workbench.tools.execute_bash.container_terminal import ContainerTerminal

_PATIENCE = 6.0  # seconds; the supervisor itself gives up after 5


class Guard:
    """A supervisor process that runs a shell on the terminal `pty`.

    If this process dies, the supervisor ends everything that it runs and removes `scratch`.
    """

    def __init__(self, shell: ProgramStart, pty: int, directory: str, scratch: Path) -> None:
        self._process, self._channel = start_supervisor(
            "workbench.processes.shell_supervisor",
            [str(pty), str(scratch)],
            shell,
            cwd=directory,
            passed=(pty,),
        )
        self._heard = b""
        self._answers = 0
        self.pid = 0
        self.status: int | None = None
        self.lost = False  # the supervisor ended without reporting an exit code

    @property
    def ended(self) -> bool:
        """Whether the shell has ended."""
        return self.status is not None or self.lost

    def fileno(self) -> int:
        """Return a descriptor to poll; call `hear()` if it is readable."""
        return self._channel.fileno()

    def hear(self) -> None:
        """Read the supervisor's messages: the shell's pid, its exit code, answers to `is_watching`."""
        data = received(self._channel)
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
        """Wait up to `seconds` for an answer from the supervisor; return False if it or the shell has ended.

        A killed supervisor is noticed even before the channel reports the end of the connection.
        """
        until = time.monotonic() + seconds
        expected = self._answers + 1
        poll = select.poll()
        poll.register(self._channel, select.POLLIN)
        with contextlib.suppress(OSError):
            self._channel.send(b"?")
        if not poll.poll(seconds * 500):
            self._wake()
        while not self.ended and self._answers < expected and time.monotonic() < until:
            if poll.poll(100):
                self.hear()
        return not self.ended

    def _wake(self) -> None:
        """Continue the supervisor, which a command may have stopped."""
        with contextlib.suppress(OSError):
            self._process.send_signal(signal.SIGCONT)

    def hang_up(self) -> None:
        """Tell the supervisor to end everything; does not wait."""
        self._wake()
        with contextlib.suppress(OSError):
            self._channel.send(b"k")
            self._channel.shutdown(socket.SHUT_RDWR)

    def close(self) -> bool:
        """Wait until all processes have ended; return False if the supervisor failed to end them."""
        self.hang_up()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._channel.close()
        return self._process.returncode == 0


_ROWS, _COLUMNS = 40, 120


class Terminal:
    """Runs a shell under a supervisor in a new terminal; only one thread at a time may read and write."""

    def __init__(self, shell: ProgramStart, directory: str, scratch: Path) -> None:
        self._master, pty = os.openpty()
        self._inner: ContainerTerminal | None = None
        self._kill_all = shell.kill_all
        self.is_containers = shell.has_own_terminal
        """Whether the shell has another terminal, in a container, and this one only passes on what is typed."""
        try:
            if self.is_containers:
                tty.setraw(pty)
            else:
                _make_plain(pty)
            self._modes = termios.tcgetattr(pty)
            termios.tcsetwinsize(pty, (_ROWS, _COLUMNS))
            self.guard = Guard(shell, pty, directory, scratch)
        except BaseException:
            os.close(self._master)
            raise
        finally:
            os.close(pty)
        self._channel = ShellChannel(self._master)
        self._poll = self.poll()

    def enter_container(self, nonce: str) -> None:
        """Find the terminal of a shell in a container, which has shown a prompt, and set its modes."""
        self._inner = ContainerTerminal(nonce)
        modes = self._inner.modes()
        if modes:
            _set_plain(modes)
            self._modes = modes
            self.restore_modes()

    @property
    def pid(self) -> int:
        """The shell's pid on this machine; that of a client if the shell is in a container elsewhere."""
        return (self._inner.pid if self._inner is not None else 0) or self.guard.pid

    @property
    def shows_shell(self) -> bool:
        """Whether the shell is a process of this machine, about which the kernel can be asked."""
        return not self.is_containers or (self._inner is not None and self._inner.pid > 0)

    @property
    def hung_up(self) -> bool:
        """Whether no process has the terminal open any more."""
        return self._channel.at_end

    def poll(self) -> select.poll:
        """Return a new poll object that waits for output or a message from the supervisor."""
        poll = select.poll()
        for number in (self._master, self.guard.fileno()):
            poll.register(number, select.POLLIN)
        return poll

    def read(self, seconds: float) -> bytes:
        """Return the output that arrives within `seconds`; empty if none does, or only a supervisor's message."""
        ready = {number for number, _ in self._poll.poll(max(0.0, seconds) * 1000)}
        if self.guard.fileno() in ready:
            self.guard.hear()
            if self.guard.lost:
                self._poll.unregister(self.guard.fileno())
        return self._read() if self._master in ready else b""

    def _read(self) -> bytes:
        data = self._channel.read_available()
        if self.hung_up:
            self._poll.unregister(self._master)
        return data

    def expect(self, patterns: Sequence[bytes], seconds: float) -> bytes:
        """Return the output up to and including the first match of a pattern; empty if there is none within `seconds`.

        After the last call, `unmatched` returns the remaining output.
        """
        output = self._channel.expect_any(patterns, seconds)
        if self.hung_up:
            self._poll.unregister(self._master)
        if not output and select.select([self.guard], [], [], 0)[0]:
            self.guard.hear()
        return output

    def unmatched(self) -> bytes:
        """Return the output after the last match of `expect`, or all of it without a match."""
        return self._channel.unmatched()

    def write(self, data: bytes, seconds: float = 2.0) -> bool:
        """Type the bytes; return False if the program did not read all of them in time."""
        return self._channel.send_all(data, seconds)

    def foreground(self) -> int:
        """Return the foreground process group of the terminal; 0 if there is none."""
        if self._inner is not None and self._inner.pid:
            return self._inner.foreground()
        try:
            return os.tcgetpgrp(self._master)
        except OSError:
            return 0

    def is_shells(self) -> bool:
        """Return whether the shell itself is in the foreground, and no command."""
        return self.foreground() == self.pid

    def press_interrupt(self) -> None:
        """Press the interrupt key; send the signal if a program made the terminal pass the key through."""
        if self.is_containers:
            modes = self._current_modes()
            is_sent = (not modes or bool(modes[3] & termios.ISIG)) and self.press_control("c")
        else:
            is_sent = self._channel.sendintr(0.05)
        if not is_sent:
            self.signal_foreground(signal.SIGINT)

    def press_control(self, letter: str) -> bool:
        """Press a letter with the control key; return False if the program did not read it in time."""
        return self._channel.sendcontrol(letter, 2.0)

    def signal_foreground(self, number: int) -> None:
        """Send a signal to the foreground group, unless that is the shell itself."""
        group = self.foreground()
        if group > 1 and group != self.pid:
            with contextlib.suppress(OSError):
                os.killpg(group, number)

    def takes_lines(self) -> bool:
        """Return whether the terminal is in line mode, which limits a line to 4,095 bytes and a newline."""
        modes = self._current_modes()
        return bool(modes[3] & termios.ICANON) if modes else self.is_containers

    def _current_modes(self) -> list[Any]:
        """Return the modes of the shell's terminal; empty if they are not known."""
        if self.is_containers:
            return self._inner.modes() if self._inner is not None else []
        try:
            return termios.tcgetattr(self._master)
        except termios.error:
            return []

    def restore_modes(self) -> None:
        """Restore the terminal's modes after a command changed them, for example with `stty raw -echo`."""
        if self._inner is not None:
            self._inner.set_modes(self._modes)
            return
        with contextlib.suppress(termios.error):
            if termios.tcgetattr(self._master) != self._modes:
                termios.tcsetattr(self._master, termios.TCSANOW, self._modes)

    def kill_unseen(self) -> None:
        """Kill the programs of a shell in a container whose processes this user does not see."""
        if self._kill_all and not self.shows_shell:
            with contextlib.suppress(OSError):
                run(self._kill_all, capture_output=True, timeout=_PATIENCE)

    def close(self) -> bool:
        """End the shell and all its processes, close the terminal; return False if the supervisor failed."""
        clean = self.guard.close()
        self._channel.close()
        return clean


def _make_plain(pty: int) -> None:
    modes = termios.tcgetattr(pty)
    _set_plain(modes)
    termios.tcsetattr(pty, termios.TCSANOW, modes)


def _set_plain(modes: list[Any]) -> None:
    """Change the modes: no echo, no conversion of newlines, no special meaning of C-s, C-q and C-v."""
    modes[6][termios.VLNEXT] = b"\0"
    modes[0] &= ~termios.IXON
    modes[1] &= ~termios.ONLCR
    modes[3] &= ~(termios.ECHO | termios.ECHOE | termios.ECHOK | termios.ECHOCTL)
