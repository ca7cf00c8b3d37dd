"""One persistent bash: sends it a command, reads until its prompt comes back; used by `impl` and `watch`.

Between calls a thread reads on, so that a server in the background is not held up by a full terminal.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import shutil
import threading
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from workbench.errors import WorkbenchError
from workbench.tools.execute_bash import rc
from workbench.tools.execute_bash.environment import shell_environment
from workbench.tools.execute_bash.keep import Kept
from workbench.tools.execute_bash.marker import Mark, MarkScanner
from workbench.tools.execute_bash.stream import Stream
from workbench.tools.execute_bash.sweep import sweep
from workbench.tools.execute_bash.terminal import Terminal

_START = 30.0


class ShellError(WorkbenchError):
    """The shell cannot be started."""


class Shell:
    """A bash that waits for commands; everything but `close()` belongs inside `with shell.use():`."""

    def __init__(self, folder: str, scratch: Path, outputs: Path, hidden: Collection[str] = ()) -> None:
        self.turn = threading.Lock()
        self.nonce = secrets.token_hex(12)
        self.on_output: Callable[[str], None] | None = None
        self.running = False
        self.heard = time.monotonic()
        self._outputs = outputs
        self._background = Stream(outputs)
        self.stream = Stream(outputs)
        self.mark: Mark | None = None
        self._doubtful: Mark | None = None
        self._line = 0
        self._closing = self._wanted = False
        self._scratch = scratch / f"command-{self.nonce}"
        secret = str(10**17 + secrets.randbelow(9 * 10**17))
        self._scanner = MarkScanner(secret)
        self.terminal = self._start(folder, scratch / f"rc-{self.nonce}", secret, hidden)
        self._reader = threading.Thread(target=self._read_on, name="shell-reader", daemon=True)
        self._reader.start()

    def _start(self, folder: str, rc_file: Path, secret: str, hidden: Collection[str]) -> Terminal:
        bash = shutil.which("bash")
        if bash is None:
            raise ShellError("bash was not found in PATH; install it.")
        rc_file.write_text(rc.rc_text(secret))
        argv = [bash, "--noprofile", "--norc", "--noediting", "-i"]
        try:
            self.terminal = Terminal(argv, folder, shell_environment(os.environ, self.nonce, hidden), rc_file.parent)
        except OSError as error:
            rc_file.unlink()
            raise ShellError(f"The shell cannot be started in {folder}: {error.strerror or error}.") from error
        # not --rcfile: some systems read a file of their own before it
        self.terminal.write(f". {rc.quoted(str(rc_file))}\n".encode("utf-8", "surrogateescape"))
        until = time.monotonic() + _START
        while self.mark is None and not self.terminal.ended and time.monotonic() < until:
            self.pump(0.2)
        with contextlib.suppress(OSError):
            rc_file.unlink()
        if self.mark is None:
            self.terminal.close()
            said = self._background.take().text.strip()
            raise ShellError(f"bash did not come to its prompt. {said}".strip())
        self._background.take()
        return self.terminal

    @property
    def ended(self) -> bool:
        """Whether the shell is gone."""
        return self.terminal.ended

    def run(self, command: str) -> None:
        """Hand the command to the shell; its output goes to `stream`."""
        self.terminal.mend_modes()
        line = rc.command_line(command)
        if len(line) > rc.LONGEST_LINE:
            self._scratch.write_text(command, encoding="utf-8", errors="replace")
            line = rc.file_line(str(self._scratch))
        self.stream = Stream(self._outputs)
        self.running = True
        self._doubtful = None
        self.heard = time.monotonic()
        self.terminal.write(line)

    def pump(self, seconds: float) -> bool:
        """Read what comes within `seconds`; false when nothing came."""
        data = self.terminal.read(seconds)
        if not data:
            if self._doubtful and self.terminal.foreground() == self.terminal.pid:
                self._accept(self._doubtful)
            return False
        self.heard = time.monotonic()
        for part in self._scanner.feed(data):
            if isinstance(part, Mark):
                self._arrived(part)
            elif self.running:
                self.stream.feed(part, self.on_output)
            else:
                self._background.feed(part, None)
        return True

    def _arrived(self, mark: Mark) -> None:
        if not self.running:
            self.mark = mark
        elif mark.line and mark.line == self._line:
            # An open quote: bash shows its last prompt once more before it is ready. An empty line gives a true one.
            self.terminal.write(b"\n")
        elif self.terminal.foreground() != self.terminal.pid:
            self._doubtful = mark
        else:
            self._accept(mark)

    def _accept(self, mark: Mark) -> None:
        self._line = mark.line
        self.mark = mark
        self._doubtful = None
        self.running = False
        with contextlib.suppress(OSError):
            self._scratch.unlink()

    def exit_code(self) -> int:
        """Of the last command that ended; a script that bash could not read has 2."""
        if self.mark is None:
            return -1
        return 2 if self.mark.abandoned and self.mark.code == 0 else self.mark.code

    def drain(self, seconds: float = 1.0) -> None:
        """Read all that is there; after the shell's death until its terminal is empty."""
        until = time.monotonic() + seconds
        while self.pump(0) and time.monotonic() < until:
            pass

    def rest(self) -> None:
        """Pass on live what waits."""
        self.stream.rest(self.on_output)

    def take_background(self) -> Kept | None:
        """What background processes wrote while no command ran."""
        return None if self._background.is_empty else self._background.take()

    def _read_on(self) -> None:
        poll = select.poll()
        for number in self.terminal.fds():
            poll.register(number, select.POLLIN)
        while not self._closing and not self.ended and not self.terminal.hung_up:
            poll.poll()
            if self._wanted:
                time.sleep(0.01)
            elif self.turn.acquire(timeout=0.2):
                try:
                    if not self._closing:
                        self.pump(0)
                finally:
                    self.turn.release()

    @contextlib.contextmanager
    def use(self) -> Iterator[None]:
        """Hold `turn`; the reading thread steps aside, however much there is to read."""
        self._wanted = True
        try:
            with self.turn:
                yield
        finally:
            self._wanted = False

    def close(self) -> None:
        """End the shell and all it started."""
        self._closing = True
        self.terminal.hang_up()
        self._reader.join()
        clean = self.terminal.close()
        if not clean:
            sweep((self.nonce,))
        self.stream.close()
        self._background.close()
        with contextlib.suppress(OSError):
            self._scratch.unlink()
