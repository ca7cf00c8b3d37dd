"""The bytes to and from the shell's terminal, through pexpect; used by `terminal`.

`pexpect.spawn` would fork this process, which has threads, and own the child. The shell is the supervisor's child,
so that nothing it starts outlives the engine, and pexpect gets the descriptor of its terminal.
"""

from __future__ import annotations

import os
import select
import termios
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pexpect
from pexpect import fdpexpect

if TYPE_CHECKING:
    _Spawn = fdpexpect.fdspawn[bytes]
else:
    _Spawn = fdpexpect.fdspawn

_CHUNK = 65536


class ShellChannel(_Spawn):
    """A pexpect channel on the master of a pseudo terminal, which it owns and never blocks on.

    It adds the methods for control keys, which pexpect implements only in `pexpect.spawn`, for its own children.
    """

    def __init__(self, master: int) -> None:
        os.set_blocking(master, False)
        super().__init__(master, timeout=None, maxread=_CHUNK, searchwindowsize=4096, use_poll=True)
        self.delayafterread = None
        self.at_end = False
        """Whether no process has the terminal open any more."""

    def expect_any(self, patterns: Sequence[bytes], seconds: float) -> bytes:
        """Return the output up to and including the first match of a pattern; empty if there is none in time.

        Output without a match is kept for `unmatched` and the next call. At the end of the output, all that is left is
        returned.
        """
        index = self.expect_exact([*patterns, pexpect.EOF, pexpect.TIMEOUT], timeout=seconds)
        self.at_end = self.at_end or index == len(patterns)
        before = self.before or b""
        if self.at_end:
            return before
        return before + patterns[index] if index < len(patterns) else b""

    def unmatched(self) -> bytes:
        """Return the output that no pattern matched; `read_available` continues after it."""
        if not self.buffer:
            return b""
        output: bytes = self.buffer
        self.expect(rb"(?s).+", timeout=0, searchwindowsize=None)
        return output

    def read_available(self) -> bytes:
        """Return up to 64 KB of the output that is available; empty if there is none."""
        try:
            data: bytes = self.read_nonblocking(_CHUNK, 0)
        except pexpect.TIMEOUT:
            return b""
        except pexpect.EOF:
            self.at_end = True
            return b""
        return data

    def send_all(self, data: bytes, seconds: float) -> bool:
        """Type the bytes; return False if the program did not read all of them in time."""
        writable = select.poll()
        writable.register(self.child_fd, select.POLLOUT)
        until = time.monotonic() + seconds
        while data and time.monotonic() < until:
            try:
                data = data[self.send(data) :]
            except BlockingIOError:
                writable.poll(50)
            except OSError:
                return False
        return not data

    def sendcontrol(self, letter: str, seconds: float) -> bool:
        """Press a letter with the control key, as `pexpect.spawn.sendcontrol`; returns as `send_all`."""
        return self.send_all(bytes([ord(letter.lower()) - ord("a") + 1]), seconds)

    def sendintr(self, seconds: float) -> bool:
        """Press this terminal's interrupt key (`stty intr`); return False if none is set.

        `pexpect.spawn` would send the interrupt key of the terminal in which the workbench runs.
        """
        try:
            modes = termios.tcgetattr(self.child_fd)
        except termios.error:
            return False
        key = modes[6][termios.VINTR]
        return bool(modes[3] & termios.ISIG and key != b"\0") and self.send_all(key, seconds)
