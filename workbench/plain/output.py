"""The output streams of a command without a screen: every failed write is noticed, told once, and ends the run."""

from __future__ import annotations

import os
import select
import sys
import threading
import time
from collections.abc import Callable
from typing import BinaryIO, Final

READER_GONE: Final = "its reader has gone"
_BLOCKED: Final = "nobody reads it"
_AT_ONCE: Final = 4_096
"""Bytes that a pipe which is ready takes without blocking (PIPE_BUF of Linux)."""
_PATIENCE: Final = 300.0
"""Seconds that a reader may take nothing, as a pager does, until it counts as gone."""
_LOOK = 100
"""Milliseconds after which a blocked write looks whether it may wait on."""


class OutputChannel:
    """One stream of this process. The first write that fails closes it, says why in `problem` and calls `on_failure`.

    A closed channel swallows what is written to it, so nobody who writes has to handle the failure.
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
        """Write the text at once."""
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
        """From now on a write fails when its reader takes nothing for so long, the one that waits now included."""
        self._patience = seconds

    def _write(self, data: bytes) -> None:
        """Write piece by piece, each when the reader has room: a blocked write could not be given up."""
        self._stream.flush()
        descriptor = self._stream.fileno()
        poll = select.poll()
        poll.register(descriptor, select.POLLOUT)
        rest, since = memoryview(data), time.monotonic()
        while rest:
            if poll.poll(_LOOK):
                rest, since = rest[os.write(descriptor, rest[:_AT_ONCE]) :], time.monotonic()
            elif time.monotonic() - since > self._patience:
                raise TimeoutError

    def check(self) -> None:
        """Notice without a write that nobody can read the stream any more, as with `| head`."""
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


def discard_output(stream: BinaryIO) -> None:
    """Lead the stream's descriptor to the null device: what is still buffered must not fail again at exit."""
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError):
        return
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, descriptor)
    os.close(null)


def replace_closed_streams() -> list[str]:
    """Open the null device for closed standard streams; the names of the output streams that were closed.

    Otherwise a file of ours, the session even, would get the number 1 or 2, and any child would write into it.
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
