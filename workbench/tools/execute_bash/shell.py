"""One persistent bash: sends it a command and reads until its prompt returns; used by `shells` and `wait`.

Between calls a thread keeps reading, so that a server in the background is not blocked by a full terminal.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path

from workbench.errors import WorkbenchError
from workbench.processes.launch import Launcher, ProgramStart
from workbench.processes.leftovers import SHELL_FILE
from workbench.processes.shell_environment import shell_environment
from workbench.processes.spawn import find_program
from workbench.processes.sweep import sweep, sweep_containers
from workbench.tools.execute_bash import rc
from workbench.tools.execute_bash.prompt import FIRST_PROMPT, Hint, Mark, PromptDetector
from workbench.tools.execute_bash.stream import OutputText, Stream
from workbench.tools.execute_bash.terminal import Terminal

_START = 30.0
_SIP, _BREATH = 0.005, 0.01
"""Seconds of reading and then of rest, between calls, so that endless output uses only part of a core."""


class ShellError(WorkbenchError):
    """The shell cannot be started."""


class NoBash(ShellError):
    """There is no bash on this machine."""


class Shell:
    """A bash that executes commands; everything but `close()` must be called inside `with shell.acquire():`."""

    def __init__(
        self,
        directory: str,
        scratch: Path,
        outputs: Path,
        hidden: Collection[str] = (),
        *,
        sandbox: Launcher | None = None,
    ) -> None:
        self.nonce = secrets.token_hex(12)
        self.on_output: Callable[[str], None] | None = None
        self.running = False
        self.heard = self.started = time.monotonic()
        self.stream = Stream(outputs)
        self.mark: Mark | None = None
        self._outputs = outputs
        self._background = Stream(outputs)
        self._hint: Hint | None = None
        self._turn = threading.Condition()
        self._is_claimed = self._closing = False
        self._script = scratch / f"command-{self.nonce}"
        self._name = scratch / f"{SHELL_FILE}{self.nonce}"
        rc_file = scratch / f"rc-{self.nonce}"
        self.granted: Sequence[str] = sandbox.granted if sandbox is not None else ()
        """The directories that commands may write besides the workspace."""
        self.terminal = self._open(directory, rc_file, hidden, sandbox)
        self._prompt = PromptDetector(self.terminal)
        self._come_up(rc_file)
        self._reader = threading.Thread(target=self._read_on, name="shell-reader", daemon=True)
        self._reader.start()

    def _open(self, directory: str, rc_file: Path, hidden: Collection[str], sandbox: Launcher | None) -> Terminal:
        bash = find_program("bash")
        in_container = sandbox is not None and sandbox.directory is not None
        if bash is None and not in_container:
            raise NoBash("There is no bash, which this tool needs. Tell the user: install it, or add it to the PATH.")
        argv = [bash or "bash", "--noprofile", "--norc", "--noediting", "-i"]
        env = shell_environment(os.environ, self.nonce, hidden)
        try:
            self._name.touch(exist_ok=False)
            _write_new(rc_file, rc.rc_text())
            private = rc_file.parent
            starting = (
                sandbox.launch(argv, directory, env, writable=[private], readable=[self._outputs]) if sandbox else None
            )
            with starting or nullcontext(ProgramStart(argv, env)) as launch:
                return Terminal(launch, directory, private)
        except OSError as error:
            _discard(rc_file)
            raise ShellError(f"The shell cannot be started in {directory}: {error.strerror or error}.") from error

    def _come_up(self, rc_file: Path) -> None:
        """Make the shell source our file and show its first prompt. Raises ShellError.

        `--rcfile` is not enough, because on some systems bash reads another file first.
        """
        first = rc.MODES if self.terminal.is_containers else ""
        self.terminal.write(f"{first}. {rc.quoted(str(rc_file))}\n".encode("utf-8", "surrogateescape"))
        until = time.monotonic() + _START
        while not (self._hint or self.ended or self.terminal.hung_up) and time.monotonic() < until:
            self._feed(self.terminal.expect(FIRST_PROMPT, 0.2))
        self._feed(self.terminal.unmatched())
        # The supervisor reports the shell's pid on another channel, on a busy machine perhaps after the prompt.
        while not ((self._hint and self.terminal.guard.pid) or self.ended) and time.monotonic() < until:
            self.pump(0.2)
        if self.terminal.is_containers:
            self.terminal.enter_container(self.nonce)
        self._prompt.reader.learn(1.0)
        self.running = True
        while self.mark is None and not self.ended and time.monotonic() < until:
            self.pump(0.0 if self._hint else 0.02)
        _discard(rc_file)
        output = (self._background.collect().text + self.stream.collect().text).strip()
        if self.mark is None:
            self.terminal.close()
            raise ShellError(f"bash did not reach its prompt. {output}".strip())

    @property
    def ended(self) -> bool:
        """Whether the shell has ended."""
        return self.terminal.guard.ended

    def run(self, command: str) -> None:
        """Start the command in the shell and return at once; its output goes to `stream`."""
        self.terminal.restore_modes()
        line = rc.command_line(command, self.exit_code())
        if len(line) > rc.LONGEST_LINE:
            self._write_script(command)
            line = rc.file_line(str(self._script), self.exit_code())
        self.stream = Stream(self._outputs)
        self.running = True
        self._hint = None
        self.heard = self.started = time.monotonic()
        self._prompt.begin(line)
        self.terminal.write(line)

    def _write_script(self, command: str) -> None:
        try:
            # In the sandbox, commands can write to this directory too, so there may be a link.
            self._script.unlink(missing_ok=True)
            _write_new(self._script, command)
        except OSError as error:
            why = f"{self._script} cannot be written ({error.strerror or error})"
            raise ShellError(
                f"The command was not run: it is too long for one line of the shell, and {why}."
            ) from error

    def pump(self, seconds: float) -> bool:
        """Read for up to `seconds`; return whether anything arrived."""
        data = self.terminal.read(seconds)
        if data:
            self.heard = time.monotonic()
            self._feed(data)
        if self.running and (self._hint or not data or self._prompt.is_due):
            self._check_prompt()
        return bool(data)

    def _feed(self, data: bytes) -> None:
        for part in self._prompt.scanner.feed(data):
            if isinstance(part, Mark):
                self._prompt.add(part)
            elif isinstance(part, Hint):
                self._hint = part
            elif self.running and not self._prompt.is_answered:
                self.stream.feed(part, self.on_output)
            else:
                self._background.feed(part, None)

    def _check_prompt(self) -> None:
        """Finish the command when the prompt confirms its end."""
        hint, self._hint = self._hint, None
        mark = self._prompt.check(hint)
        if mark:
            self.mark = mark
            self.running = False
            _discard(self._script)

    @property
    def broken(self) -> bool:
        """Whether the command ended but the shell cannot report its exit code."""
        return self._prompt.is_broken

    def interrupt(self) -> None:
        """Press C-c."""
        self.terminal.press_interrupt()
        self._prompt.interrupt()

    def exit_code(self) -> int:
        """Return the exit code of the last command: 2 if bash could not parse it, -1 before the first prompt."""
        if self.mark is None:
            return -1
        return 2 if self.mark.abandoned and self.mark.code == 0 else self.mark.code

    def drain(self, seconds: float = 1.0) -> None:
        """Read the available output for at most `seconds`; return early once the terminal is empty."""
        until = time.monotonic() + seconds
        while self.pump(0.005 if self.running and self._prompt.is_asked else 0) and time.monotonic() < until:
            pass

    def rest(self) -> None:
        """Pass pending output on to the listener."""
        self.stream.rest(self.on_output)

    def unseen(self) -> str:
        """Return the part of the last command's output that has not been collected yet."""
        return self.stream.collect().text

    def collect_background(self) -> OutputText | None:
        """Return the output of background processes since the last command, or None."""
        return None if self._background.is_empty else self._background.collect()

    @contextlib.contextmanager
    def acquire(self) -> Iterator[None]:
        """Acquire the shell: the reading thread pauses, however much there is to read."""
        self._is_claimed = True
        with self._turn:
            try:
                yield
            finally:
                self.on_output = None
                self._is_claimed = False
                self._turn.notify()

    def _read_on(self) -> None:
        poll = self.terminal.poll()
        while not (self._closing or self.ended or self.terminal.hung_up):
            poll.poll()
            with self._turn:
                self._turn.wait_for(lambda: not self._is_claimed)
                if not self._closing:
                    self.drain(_SIP)
            time.sleep(_BREATH)

    def close(self) -> bool:
        """End the shell and everything it started; return False if a later `sweep` may be necessary."""
        self._closing = True
        if self.terminal.is_containers:  # its processes are not the supervisor's descendants
            sweep_containers((self.nonce,))
            sweep((self.nonce,))
            self.terminal.kill_unseen()
        self.terminal.guard.hang_up()
        self._reader.join()
        clean = self.terminal.close()
        if not clean:
            sweep((self.nonce,))
        _discard(self._name)
        self.stream.close()
        self._background.close()
        _discard(self._script)
        return clean


def _write_new(path: Path, text: str) -> None:
    """Write a new file, and not through a link. Raises OSError."""
    with path.open("x", encoding="utf-8", errors="replace") as file:
        file.write(text)


def _discard(path: Path) -> None:
    """Delete a private file; if the disk cannot be written, the next start deletes it."""
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)
