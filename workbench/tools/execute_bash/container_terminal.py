"""The terminal of a shell in a container, reached through /proc; used by `terminal`.

Podman and docker give the shell a terminal of its own and pass on what it reads and writes, so the terminal of their
client says nothing about the shell. Where the container's processes are in this machine's /proc, the shell is the first
one with the nonce in its environment; elsewhere (a virtual machine) nothing is known about it.
"""

from __future__ import annotations

import contextlib
import os
import termios
from collections.abc import Iterator
from pathlib import Path

from workbench.processes.sweep import marked, pid_namespace

_BASH = "bash"


class ContainerTerminal:
    """The terminal of the shell that has the nonce in its environment."""

    def __init__(self, nonce: str) -> None:
        self.pid = self._find(nonce)
        """The shell's process ID on this machine; 0 if it is not in this machine's /proc."""

    def _find(self, nonce: str) -> int:
        own = pid_namespace("self")
        inside = [pid for pid in marked([nonce]) if pid_namespace(pid) not in ("", own) and _name(pid) == _BASH]
        return min(inside, key=_started, default=0)

    def foreground(self) -> int:
        """Return the foreground process group, by its number on this machine; 0 if it is not known."""
        fields = _fields(self.pid)
        return max(0, int(fields[5])) if fields else 0

    def modes(self) -> list[int | list[bytes | int]]:
        """Return the terminal's modes, as `termios.tcgetattr` does; empty if they are not known."""
        with self._open() as terminal:
            return termios.tcgetattr(terminal) if terminal >= 0 else []

    def set_modes(self, modes: list[int | list[bytes | int]]) -> None:
        """Set the terminal's modes if they differ."""
        with self._open() as terminal, contextlib.suppress(termios.error):
            if terminal >= 0 and termios.tcgetattr(terminal) != modes:
                termios.tcsetattr(terminal, termios.TCSANOW, modes)

    @contextlib.contextmanager
    def _open(self) -> Iterator[int]:
        """Yield a descriptor of the terminal; -1 if there is none.

        It is closed afterwards, because the shell could not end while another process has its terminal open.
        """
        terminal = -1
        for number in (255, 0) if self.pid else ():  # 255 is bash's own, which commands do not redirect
            with contextlib.suppress(OSError):
                terminal = os.open(f"/proc/{self.pid}/fd/{number}", os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
                if os.isatty(terminal):
                    break
                os.close(terminal)
                terminal = -1
        try:
            yield terminal
        finally:
            if terminal >= 0:
                os.close(terminal)


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
    except OSError:
        return ""


def _started(pid: int) -> int:
    fields = _fields(pid)
    return int(fields[19]) if fields else 0


def _fields(pid: int) -> list[str]:
    """Return the state, parent, group and further fields of a process; empty if it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return []
