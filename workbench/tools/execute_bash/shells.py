"""The shells of one session, at most one running at a time; used by `impl`."""

from __future__ import annotations

import functools
import os
import pwd
import shutil
import socket
import tempfile
import threading
from collections.abc import Collection
from pathlib import Path

from workbench.processes.leftovers import prefix
from workbench.processes.sweep import sweep, sweep_later
from workbench.tools.execute_bash import messages
from workbench.tools.execute_bash.definition import CmdOutputMetadata
from workbench.tools.execute_bash.shell import Shell, ShellError


@functools.cache
def own_username() -> str:
    """Return the name of the user of this process; the number if it has no name."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


@functools.cache
def _hostname() -> str:
    return socket.gethostname()


@functools.lru_cache(maxsize=8)
def _python(path: str) -> str | None:
    return shutil.which("python", path=path) or shutil.which("python3", path=path)


def working_directory(pid: int) -> str:
    """Return the real directory of a process, from the kernel; empty without /proc.

    The path of a deleted directory ends in " (deleted)".
    """
    try:
        return os.readlink(f"/proc/{pid}/cwd") if pid > 0 else ""  # noqa: PTH115 - asked for each action
    except OSError:
        return ""


def readers(group: int) -> list[tuple[tuple[str, ...], str]]:
    """Return the command lines and directories of a process group's programs that may read input.

    These are the processes without children; empty without /proc. Each costs a few reads of /proc.
    """
    programs: list[tuple[tuple[str, ...], str]] = []
    pending = [group]
    while pending and len(programs) < _MOST_READERS:
        pid = pending.pop()
        try:
            raw = Path(f"/proc/{pid}/cmdline").read_bytes()
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        except OSError:
            continue
        pending += [int(child) for child in children]
        if not children:
            words = tuple(os.fsdecode(word) for word in raw.rstrip(b"\0").split(b"\0"))
            programs.append((words, working_directory(pid)))
    return programs


_MOST_READERS = 20


def metadata(shell: Shell | None, directory: str) -> CmdOutputMetadata:
    """Return the state of the shell; its directory comes from the kernel, because `$PWD` can be set to anything."""
    mark = shell.mark if shell else None
    pid = shell.terminal.guard.pid if shell else -1
    return CmdOutputMetadata(
        pid=pid,
        working_dir=working_directory(pid) or (mark.directory if mark else directory),
        username=own_username(),
        hostname=_hostname(),
        py_interpreter_path=_python(mark.path) if mark else None,
    )


_RESET = 2.0
"""Seconds that a reset waits for the old shell's processes to end, so that its ports and locks are free."""


class Shells:
    """Owns at most one running shell; earlier ones end in their own threads."""

    def __init__(self, directory: str, state_dir: Path | None, hidden: Collection[str]) -> None:
        self.directory = directory
        self.current: Shell | None = None
        self._outputs = state_dir / "outputs" if state_dir else None
        self._hidden = frozenset(hidden)
        self._scratch: Path | None = None
        self._ends: list[threading.Thread] = []
        self._unswept: list[str] = []  # nonces of shells whose supervisor failed to end them

    def open(self, *, reset: bool = False) -> tuple[Shell, list[str]]:
        """Return a running shell, started if necessary, and the lines to report about a restart; `reset` forces a new
        one. Raises ShellError.
        """
        shell = self.current
        if shell is not None and reset:
            self.end_current(seconds=_RESET)
            return self.start(), [messages.RESET]
        if shell is None:
            return self.start(), [messages.RESET] if reset else []
        with shell.acquire():
            shell.drain(0.2)
            if not shell.ended:
                return shell, []
            lead = [
                *messages.previous_output(shell.unseen()),
                messages.died(shell.terminal.guard.status, self.directory),
            ]
        self.end_current()
        return self.start(), lead

    def start(self) -> Shell:
        """Start a new shell. Raises ShellError."""
        if self._scratch is None:
            try:
                self._scratch = Path(tempfile.mkdtemp(prefix=prefix("shell")))
            except OSError as error:
                why = error.strerror or error
                raise ShellError(
                    f"The shell has no directory for temporary files: {why}. Set TMPDIR to one."
                ) from error
        self.current = Shell(self.directory, self._scratch, self._outputs or self._scratch, self._hidden)
        return self.current

    def end_current(self, seconds: float = 0.0) -> None:
        """End the shell and its processes, waiting at most `seconds`."""
        shell, self.current = self.current, None
        if shell is None:
            return

        def end() -> None:
            if not shell.close():
                self._unswept.append(shell.nonce)
                sweep_later((shell.nonce,))

        thread = threading.Thread(target=end, name="shell-end", daemon=True)
        thread.start()
        self._ends = [*(thread for thread in self._ends if thread.is_alive()), thread]
        thread.join(seconds)

    def close(self) -> None:
        """End the shell, wait for earlier ones, and delete the private files."""
        self.end_current()
        for thread in self._ends:
            thread.join()
        sweep(self._unswept)
        self._unswept.clear()
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)
            self._scratch = None

    def where(self) -> CmdOutputMetadata:
        """Return the state of the current shell."""
        return metadata(self.current, self.directory)
