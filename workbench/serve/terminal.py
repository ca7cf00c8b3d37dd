"""Runs the program of one tab in its own pseudo terminal; it ends with the tab, as if its terminal were closed."""

from __future__ import annotations

import asyncio
import os
import termios
from asyncio.subprocess import Process
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from workbench.processes.spawn import start_beside

_PATIENCE = 5.0
"""Seconds that the program has to end after its terminal was closed; then it is killed."""
_CHUNK = 1 << 16
_BACKLOG = 1 << 22
"""The maximum number of bytes of input that wait for the program to read them."""
_OUTER_TERMINAL = (
    *("TMUX", "TMUX_PANE", "STY", "ZELLIJ", "INSIDE_EMACS", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "VTE_VERSION"),
    *("WT_SESSION", "KITTY_WINDOW_ID", "ConEmuANSI", "COLORFGBG", "COLUMNS", "LINES", "SSH_TTY"),
)
"""Variables that describe the terminal in which the server was started."""


class TerminalFull(Exception):
    """The input buffer is full, because the program does not read its input."""


class TabTerminal:
    """A running program and its pseudo terminal."""

    def __init__(self, process: Process, descriptor: int) -> None:
        self._process = process
        self._descriptor = descriptor
        self._reader = asyncio.StreamReader()
        self._transports: list[asyncio.BaseTransport] = []
        self._input: asyncio.WriteTransport | None = None

    @classmethod
    async def start(cls, command: Sequence[str], columns: int, rows: int, env: Mapping[str, str]) -> TabTerminal:
        """Start the command in a terminal of this size. Raises OSError."""
        ours, theirs = os.openpty()
        try:
            termios.tcsetwinsize(ours, (rows, columns))
            process = await start_beside(
                command,
                cwd=Path.cwd(),
                env=_environment(env),
                is_users=True,
                stdin=theirs,
                stdout=theirs,
                stderr=theirs,
                start_new_session=True,
            )
        except OSError:
            os.close(ours)
            raise
        finally:
            os.close(theirs)
        terminal = cls(process, ours)
        await terminal._connect()
        return terminal

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        output, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(self._reader), os.fdopen(os.dup(self._descriptor), "rb", 0)
        )
        self._input, _ = await loop.connect_write_pipe(
            asyncio.BaseProtocol, os.fdopen(os.dup(self._descriptor), "wb", 0)
        )
        self._transports = [output, self._input]

    async def read(self) -> bytes:
        """Wait for the program's next output and return it; empty once the program has closed the terminal."""
        try:
            return await self._reader.read(_CHUNK)
        except OSError:  # the kernel's answer when the last process has closed it
            return b""

    def write(self, data: bytes) -> None:
        """Send input to the program. Raises TerminalFull if more than `_BACKLOG` bytes of earlier input have not been
        read.
        """
        if self._input is None or self._input.is_closing():
            return
        if self._input.get_write_buffer_size() > _BACKLOG:
            raise TerminalFull
        self._input.write(data)

    def resize(self, columns: int, rows: int) -> None:
        """Change the size of the terminal; the kernel notifies the program."""
        with suppress(OSError, termios.error):  # it has ended
            termios.tcsetwinsize(self._descriptor, (rows, columns))

    async def close(self) -> None:
        """Close the terminal and wait for the program to end; kill it after `_PATIENCE` seconds."""
        for transport in self._transports:
            if isinstance(transport, asyncio.WriteTransport):
                transport.abort()
            else:
                transport.close()
        await asyncio.sleep(0)  # the transports close their descriptors in the next round
        os.close(self._descriptor)
        try:
            await asyncio.wait_for(self._process.wait(), _PATIENCE)
        except TimeoutError:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()


def _environment(env: Mapping[str, str]) -> dict[str, str]:
    inner = {name: value for name, value in env.items() if name not in _OUTER_TERMINAL}
    return {**inner, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
