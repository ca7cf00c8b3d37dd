"""Search processes of `glob` and `grep`: ripgrep or our own worker, with time limit and interruption."""

from __future__ import annotations

import os
import select
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from workbench.processes.spawn import find_program, start


class Stop:
    """A flag that ends one search; `why` is empty while the search may continue."""

    def __init__(self) -> None:
        self.why = ""
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def is_over(self) -> bool:
        """Return whether the search has to end."""
        return bool(self.why)

    def end(self, why: str) -> None:
        """End the search and its process; called from another thread."""
        with self._lock:
            self.why = self.why or why
            if self._process is not None:
                self._process.kill()

    @contextmanager
    def watching(self, process: subprocess.Popen[bytes]) -> Iterator[None]:
        """Return a context in which `end` kills the process; the process has ended when the context exits."""
        with self._lock:
            self._process = process
            if self.why:
                process.kill()
        try:
            yield
        finally:
            with self._lock:
                self._process = None
            if process.poll() is None:
                process.kill()
            process.wait()


class Searches:
    """The running searches of one tool, which may be concurrent."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._running: set[Stop] = set()
        self._lock = threading.Lock()

    @contextmanager
    def one(self) -> Iterator[Stop]:
        """Return a context for one search, which is stopped when the time limit passes."""
        stop = Stop()
        timer = threading.Timer(self.seconds, stop.end, ("time",))
        timer.daemon = True
        with self._lock:
            self._running.add(stop)
        timer.start()
        try:
            yield stop
        finally:
            timer.cancel()
            with self._lock:
                self._running.discard(stop)

    def interrupt(self) -> None:
        """Cancel all running searches."""
        with self._lock:
            running = tuple(self._running)
        for stop in running:
            stop.end("interrupt")


LARGEST = 10 << 20
"""The size, in bytes, of the largest file that ripgrep and our own search read."""
_CHUNK = 1 << 18
_FLAGS = (
    *("--no-config", "--no-messages", "--no-ignore-messages", "--color=never"),
    *("--no-ignore-global", "--no-ignore-exclude", "--no-require-git", "--null"),
)


class ProgramError(Exception):
    """The program printed an error, for example because it is too old to know an option, or is blocked by a file."""


def ripgrep(*options: str, hidden: bool) -> list[str] | None:
    """Return a ripgrep command, to run in the searched directory, with the same ignore rules as `walk`.

    None if ripgrep is not installed.
    """
    program = find_program("rg")
    if program is None:
        return None
    return [program, *_FLAGS, *(("--hidden", "--glob=!.git") if hidden else ()), *options, "./"]


_QUIET_SECONDS = 1.0


def output_of(
    command: Sequence[str], directory: str, stop: Stop, is_blocked: Callable[[], bool] = bool, stdin: bytes = b""
) -> Iterator[bytes]:
    """Yield the program's output in chunks. Raises ProgramError if it prints errors, OSError if it cannot start.

    Also raises ProgramError if the program prints nothing for a second and `is_blocked`, called at most once, returns
    True: the program is then waiting for a file that will never be readable.
    """
    process = start(
        command,
        cwd=directory,
        stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    with process, stop.watching(process):
        if process.stdin:
            _send(process, stdin)
        assert process.stdout is not None
        assert process.stderr is not None
        yield from _chunks(process.stdout.fileno(), is_blocked)
        complaint = process.stderr.read(4096).decode(errors="replace").strip()
        process.wait()
        if complaint and not stop.why:
            raise ProgramError(complaint)


def _chunks(output: int, is_blocked: Callable[[], bool]) -> Iterator[bytes]:
    was_asked = False
    while True:
        if not was_asked and not _is_readable(output):
            was_asked = True
            if is_blocked():
                raise ProgramError("it waits for a file that is not a regular one")
        chunk = os.read(output, _CHUNK)
        if not chunk:
            return
        yield chunk


def _is_readable(output: int) -> bool:
    waiting = select.poll()
    waiting.register(output, select.POLLIN)
    return bool(waiting.poll(_QUIET_SECONDS * 1_000))


def _send(process: subprocess.Popen[bytes], stdin: bytes) -> None:
    assert process.stdin is not None
    try:
        process.stdin.write(stdin)
        process.stdin.close()
    except BrokenPipeError:
        pass  # it ended early; its error output says why
