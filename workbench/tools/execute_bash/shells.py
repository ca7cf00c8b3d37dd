"""The shells of one session, at most one running at a time; used by `impl`."""

from __future__ import annotations

import functools
import os
import pwd
import shutil
import socket
import tempfile
import threading
from collections.abc import Collection, Sequence
from pathlib import Path

from workbench.files.workspace_names import by_own_name
from workbench.processes.launch import Launcher
from workbench.processes.leftovers import prefix
from workbench.processes.sweep import sweep, sweep_later
from workbench.tools.execute_bash import OUTPUTS, messages
from workbench.tools.execute_bash.definition import CmdOutputMetadata
from workbench.tools.execute_bash.shell import Shell, ShellError
from workbench.tools.granted_changes import GrantedChanges
from workbench.tools.sandbox_notes import denial, sandbox_notes


@functools.cache
def own_username() -> str:
    """Return the name of the user that this process runs as; the user's ID if it has no name."""
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
    pid = shell.terminal.pid if shell else -1
    in_container = shell is not None and shell.terminal.is_containers
    return CmdOutputMetadata(
        pid=pid,
        working_dir=_directory_of(shell) or (mark.directory if mark else directory),
        username=own_username(),
        hostname=_hostname(),
        py_interpreter_path=_python(mark.path) if mark and not in_container else None,
    )


def _directory_of(shell: Shell | None) -> str:
    return working_directory(shell.terminal.pid) if shell is not None and shell.terminal.shows_shell else ""


_RESET = 2.0
"""Seconds that a reset waits for the old shell's processes to end, so that its ports and locks are free."""


class Shells:
    """Owns at most one running shell; earlier ones end in their own threads."""

    def __init__(
        self, directory: str, state_dir: Path | None, hidden: Collection[str], sandbox: Launcher | None = None
    ) -> None:
        self.directory = directory
        self.current: Shell | None = None
        self._outputs = state_dir / OUTPUTS if state_dir else None
        self._hidden = frozenset(hidden)
        self._sandbox = sandbox
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
        if shell.granted != self._granted():
            return self._with_granted(shell)
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

    def _granted(self) -> Sequence[str]:
        """Return the directories that a new shell may write besides the workspace."""
        return self._sandbox.granted if self._sandbox is not None else ()

    def _with_granted(self, shell: Shell) -> tuple[Shell, list[str]]:
        """Replace a shell by one with the directories that may be written now, unless a command runs in it."""
        with shell.acquire():
            shell.drain(0.2)
            if shell.running and not shell.ended:
                return shell, []
            lead = messages.previous_output(shell.unseen())
        directory = self.where().working_dir
        directory = directory if Path(directory).is_dir() else self.directory
        self.end_current(seconds=_RESET)
        granted = self._granted()
        return self.start(directory), [*lead, messages.granted(granted, directory)]

    def start(self, directory: str = "") -> Shell:
        """Start a new shell, in the workspace unless a directory is named. Raises ShellError."""
        if self._scratch is None:
            try:
                parent = self._sandbox.directory if self._sandbox is not None else None
                self._scratch = Path(tempfile.mkdtemp(prefix=prefix("shell"), dir=parent))
            except OSError as error:
                why = error.strerror or error
                raise ShellError(
                    f"The shell has no directory for temporary files: {why}. Set TMPDIR to one."
                ) from error
        outputs = self._outputs or self._scratch
        directory = directory or self.directory
        self.current = Shell(directory, self._scratch, outputs, self._hidden, sandbox=self._sandbox)
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


class ShellChoice:
    """The session's usual shells, and shells outside the sandbox for single commands; `chosen` are those in use."""

    def __init__(
        self, directory: str, state_dir: Path | None, hidden: Collection[str], sandbox: Launcher | None
    ) -> None:
        self._usual = self.chosen = Shells(directory, state_dir, hidden, sandbox)
        self._open = functools.partial(Shells, state_dir=state_dir, hidden=hidden)
        self._sandbox = sandbox
        self._changes = GrantedChanges(())

    @property
    def is_outside(self) -> bool:
        """Whether a shell outside the sandbox is in use: its command still runs, or its end was not reported yet."""
        return self.chosen is not self._usual

    def select(self, *, outside: bool) -> list[str]:
        """Select the shells for a new command; for one to be run `outside` the sandbox, new ones in the same directory.

        While an earlier command runs outside, its shell remains selected, and refuses others. Returns the lines to
        report about an earlier command outside that has ended.
        """
        lines = self._ended_outside() if self.is_outside else []
        if outside and not self.is_outside:
            self.chosen = self._open(self._directory_outside())
        return lines

    def _directory_outside(self) -> str:
        """Return the directory of the usual shell; the workspace if that directory exists only in a container."""
        directory = self.by_own_name(self._usual.where().working_dir)
        in_container = self._sandbox is not None and self._sandbox.directory is not None
        is_own = in_container and not Path(directory).is_relative_to(self._usual.directory)
        return self._usual.directory if is_own else directory

    def by_own_name(self, directory: str) -> str:
        """Return a directory with the workspace's own path in place of the path that it has in the container."""
        second = self._sandbox.container_path if self._sandbox is not None and not self.is_outside else ""
        return by_own_name(directory, self._usual.directory, second)

    def _ended_outside(self) -> list[str]:
        """Use the usual shells again if the command outside has ended; return the lines to report about it."""
        lines: list[str] = []
        shell = self.chosen.current
        if shell is not None:
            with shell.acquire():
                shell.drain(0.2)
                if shell.running and not shell.ended:
                    return []
                lines = [*messages.previous_output(shell.unseen()), messages.ended(shell.exit_code())]
        self.return_inside()
        return lines

    def return_inside(self, after: str = "") -> None:
        """Use the usual shells again and end those outside, unless `after`, the unreported command, is not empty."""
        if self.is_outside and not after:
            self.chosen.close()
            self.chosen = self._usual

    def is_held(self) -> bool:
        """Return whether the user is deciding on a host that a command wants."""
        return self._sandbox is not None and self._sandbox.is_waiting("bash")

    def run(self, shell: Shell, command: str) -> None:
        """Start a command in the shell; `notes` names what it changes in directories that the user granted."""
        is_confined = self._sandbox is not None and not self.is_outside
        self._changes = GrantedChanges(self._sandbox.granted if self._sandbox and is_confined else ())
        shell.run(command)

    def notes(self, output: str, code: int) -> list[str]:
        """Return lines about what the sandbox refused to the command that has ended, and what it changed in granted
        directories.
        """
        shell = self.chosen.current
        if self._sandbox is None or self.is_outside or shell is None or not self._sandbox.holds:
            return []
        refused = self._sandbox.refused_since("bash", shell.started)
        in_container = shell.terminal.is_containers
        reported = denial(self._sandbox) if code != 0 and not in_container else ""
        wall = "container" if in_container else "sandbox"
        notes = sandbox_notes(output, refused, messages.BEYOND_SANDBOX, denial=reported, wall=wall)
        return [*notes, *self._changes.notes()]

    def close(self) -> None:
        """End all shells, and delete their private files."""
        self.return_inside()
        self._usual.close()
