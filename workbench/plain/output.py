"""The output streams of a run without a screen: a failed write is noticed, reported once, and ends the run."""

from __future__ import annotations

import os
import select
import shutil
import sys
import threading
import time
from collections.abc import Callable
from typing import IO, BinaryIO, Final

READER_GONE: Final = "its reader has gone"
WIDTH: Final = 200
"""The width, in columns, that is assumed if the stream is not a terminal."""
_BLOCKED: Final = "it is not read"
_AT_ONCE: Final = 4_096
"""The number of bytes that a ready pipe accepts without blocking (PIPE_BUF on Linux)."""
_PATIENCE: Final = 300.0
"""The seconds for which a reader, such as a pager, may read nothing before it is treated as gone."""
_CHECK_INTERVAL = 100
"""Milliseconds between checks of whether a blocked write may wait any longer."""


class OutputChannel:
    """An output stream. The first write that fails closes the channel, sets `problem`, and calls `on_failure`.

    A closed channel discards what is written to it, so callers need not handle the failure.
    """

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self.name = name
        self.problem = ""
        self.is_pipe_closed = False
        self.on_failure: Callable[[str], None] = lambda problem: None
        self._stream = stream
        self._patience = _PATIENCE
        self._lock = threading.Lock()

    def write(self, text: str) -> None:
        """Write the text without buffering; do nothing if the channel is closed."""
        if self.problem:
            return
        try:
            with self._lock:
                self._write(text.encode("utf-8", "backslashreplace"))
        except BrokenPipeError:
            self._fail(READER_GONE, is_pipe_closed=True)
        except TimeoutError:
            self._fail(_BLOCKED)
        except (OSError, ValueError) as error:
            self._fail(getattr(error, "strerror", None) or str(error))

    def limit_waits(self, seconds: float) -> None:
        """Make writes, including one that is blocked now, fail once the reader has read nothing for
        this many seconds.
        """
        self._patience = seconds

    def _write(self, data: bytes) -> None:
        """Write the data in pieces, each when the reader has room, because a blocked write cannot be canceled.

        Raises TimeoutError if the reader reads nothing for too long.
        """
        self._stream.flush()
        descriptor = self._stream.fileno()
        poll = select.poll()
        poll.register(descriptor, select.POLLOUT)
        rest, since = memoryview(data), time.monotonic()
        while rest:
            if poll.poll(_CHECK_INTERVAL):
                rest, since = rest[os.write(descriptor, rest[:_AT_ONCE]) :], time.monotonic()
            elif time.monotonic() - since > self._patience:
                raise TimeoutError

    def check(self) -> None:
        """Close the channel, without writing, if no reader is left, as after `| head`."""
        if self.problem:
            return
        try:
            poll = select.poll()
            poll.register(self._stream.fileno(), 0)
            is_gone = any(state & (select.POLLERR | select.POLLNVAL) for _, state in poll.poll(0))
        except (OSError, ValueError):
            return
        if is_gone:
            self._fail(READER_GONE, is_pipe_closed=True)

    def _fail(self, why: str, *, is_pipe_closed: bool = False) -> None:
        self.is_pipe_closed = is_pipe_closed
        self.problem = f"{self.name} cannot be written: {why}"
        discard_output(self._stream)
        self.on_failure(self.problem)


def uses_color(stream: IO[str]) -> bool:
    """Return whether the stream is a terminal with colors, and the user has not disabled them with NO_COLOR."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def width_of(stream: IO[str]) -> int:
    """Return the width of the terminal in columns, or `WIDTH` if the stream is not a terminal."""
    return shutil.get_terminal_size().columns if stream.isatty() else WIDTH


def discard_output(stream: BinaryIO) -> None:
    """Redirect the stream's descriptor to the null device, so that flushing its buffer at exit does not fail again."""
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError):
        return
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, descriptor)
    os.close(null)


def replace_closed_streams() -> list[str]:
    """Open the null device in place of closed standard streams; return the names of the closed output streams.

    Otherwise a file such as the session's could get descriptor 1 or 2, and child processes would write into it.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number, which is this one
            os.set_inheritable(descriptor, True)
    sys.stdin = sys.stdin or open(0, closefd=False)  # noqa: SIM115
    closed = []
    if sys.stdout is None:
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
        closed.append("standard output")
    if sys.stderr is None:
        sys.stderr = open(2, "w", errors="backslashreplace", closefd=False)  # noqa: SIM115
        closed.append("standard error")
    return closed
