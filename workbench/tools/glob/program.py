"""Runs ripgrep, or another program that searches, and gives its output while it comes; for `glob` and `grep`."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from workbench.processes.start import find_program, start


class Stop:
    """The end of one search; `why` is empty until it comes."""

    def __init__(self) -> None:
        self.why = ""
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def is_over(self) -> bool:
        """Whether the search has to end."""
        return bool(self.why)

    def end(self, why: str) -> None:
        """End the search and its process; called from another thread."""
        with self._lock:
            self.why = self.why or why
            if self._process is not None:
                self._process.kill()

    @contextmanager
    def watching(self, process: subprocess.Popen[bytes]) -> Iterator[None]:
        """While inside, the process is killed when the end comes; it has ended afterwards."""
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
    """The searches of one tool that run now; several may, side by side."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._running: set[Stop] = set()
        self._lock = threading.Lock()

    @contextmanager
    def one(self) -> Iterator[Stop]:
        """A search that ends by itself when its time is over."""
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
        """End all of them."""
        with self._lock:
            running = tuple(self._running)
        for stop in running:
            stop.end("interrupt")


LARGEST = 10 << 20
"""Bytes of a file that is still searched, in both ways to search."""
_CHUNK = 1 << 18
_FLAGS = (
    *("--no-config", "--no-messages", "--no-ignore-messages", "--color=never"),
    *("--no-ignore-global", "--no-ignore-exclude", "--no-require-git", "--null"),
)


class ProgramError(Exception):
    """The program refused its task, for example because it is too old to know an option."""


def ripgrep(*options: str, hidden: bool) -> list[str] | None:
    """The command that searches as our own walk does, for the folder it is started in; None without ripgrep."""
    program = find_program("rg")
    if program is None:
        return None
    return [program, *_FLAGS, *(("--hidden", "--glob=!.git") if hidden else ()), *options, "./"]


def output_of(command: Sequence[str], folder: str, stop: Stop, given: bytes = b"") -> Iterator[bytes]:
    """What the program prints, piece by piece; raises ProgramError when it complains, OSError when it cannot start."""
    process = start(
        command,
        cwd=folder,
        stdin=subprocess.PIPE if given else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    with process, stop.watching(process):
        if process.stdin:
            _give(process, given)
        assert process.stdout is not None
        assert process.stderr is not None
        while chunk := os.read(process.stdout.fileno(), _CHUNK):
            yield chunk
        complaint = process.stderr.read(4096).decode(errors="replace").strip()
        process.wait()
        if complaint and not stop.why:
            raise ProgramError(complaint)


def _give(process: subprocess.Popen[bytes], given: bytes) -> None:
    assert process.stdin is not None
    try:
        process.stdin.write(given)
        process.stdin.close()
    except BrokenPipeError:
        pass  # it ended early; its complaint says why
