"""Runs hooks one after another in one long-lived process, because starting an interpreter for each hook takes 30 times
as long as the hook itself.

Its argument is the descriptor of a socket. Each line there is a request: `id`, `command` (for `/bin/sh -c`),
`directory`, `env` (variables to add), `input` and `seconds` (the timeout). The answer is a line with the same `id`, the
exit `status` (negative for a signal, null if the command was killed), `output`, `errors`, and `end`: "time" or "size"
if a limit was exceeded, otherwise empty. Before it answers, it kills everything that the command started, on Linux even
processes that left the command's process group.

It runs under `program_supervisor`, in a sandbox if there is one; standard library only.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import time
from functools import partial

from workbench.processes import descendants

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST_OUTPUT = 1 << 20
"""A command that writes more bytes than this, to stdout or to stderr, is killed."""
_SECONDS = 5.0
_CHUNK = 1 << 16


class _Pipes:
    """Our ends of the pipes of a running command: its input, and what it has written so far."""

    def __init__(self, data: bytes) -> None:
        self._input = memoryview(data)
        (stdin, self._writes), (self._reads, stdout), (self._hears, stderr) = os.pipe(), os.pipe(), os.pipe()
        self.theirs = stdin, stdout, stderr
        self.output, self.errors = bytearray(), bytearray()
        self._buffers = {self._reads: self.output, self._hears: self.errors}
        self.poll = select.poll()
        for number in (self._writes, *self._buffers):
            os.set_blocking(number, False)
            self.poll.register(number, select.POLLOUT if number == self._writes else select.POLLIN)

    def close_theirs(self) -> None:
        """Close the command's ends of the pipes, once the command has inherited them."""
        for number in self.theirs:
            os.close(number)

    @property
    def is_too_long(self) -> bool:
        """Whether the command has written more than `MOST_OUTPUT` bytes to stdout or stderr."""
        return max(len(self.output), len(self.errors)) > MOST_OUTPUT

    def serve(self, number: int) -> None:
        """Read from, or write to, the pipe with this descriptor, which is ready."""
        if number == self._writes:
            self._feed()
        elif number in self._buffers:
            data = os.read(number, _CHUNK)
            self._buffers[number] += data
            if not data:
                self.poll.unregister(number)

    def _feed(self) -> None:
        """Write more of the input. It is no error if the command reads only part of it, or none."""
        try:
            self._input = self._input[os.write(self._writes, self._input[:_CHUNK]) :]
        except BrokenPipeError:
            self._input = self._input[:0]
        if not self._input:
            self.poll.unregister(self._writes)
            os.close(self._writes)
            self._writes = -1

    def drain(self) -> None:
        """Read the rest of the output, after all writers have ended, and close our ends."""
        for number, buffer in self._buffers.items():
            with contextlib.suppress(BlockingIOError):
                while not self.is_too_long and (data := os.read(number, _CHUNK)):
                    buffer += data
            os.close(number)
        if self._writes >= 0:
            os.close(self._writes)


def _prepare(theirs: tuple[int, ...], directory: str, env: dict[str, str], server: int) -> None:
    """In the child: start a session, connect the pipes, add the variables and enter the directory."""
    os.setsid()
    descendants.die_with(server)
    signal.set_wakeup_fd(-1)
    for number, each in enumerate(theirs):
        os.dup2(each, number)
    os.environ.update(env)
    os.chdir(directory)


def _run(request: dict[str, Any], wakes: int) -> dict[str, Any]:
    """Run a command until it ends, times out or writes too much; return the answer."""
    pipes = _Pipes(request["input"].encode())
    prepare = partial(_prepare, pipes.theirs, request["directory"], request["env"])
    child = descendants.start_program(prepare, ["/bin/sh", "-c", request["command"]])
    pipes.close_theirs()
    status, end = _watch(pipes, child, wakes, time.monotonic() + request["seconds"])
    descendants.end_all(child, _SECONDS)
    pipes.drain()
    output, errors = (bytes(each[:MOST_OUTPUT]).decode(errors="replace") for each in (pipes.output, pipes.errors))
    end = end or ("size" if pipes.is_too_long else "")
    return {"status": status, "output": output, "errors": errors, "end": end}


def _watch(pipes: _Pipes, child: int, wakes: int, until: float) -> tuple[int | None, str]:
    """Serve the pipes until the command ends or exceeds a limit.

    Returns its exit status and "", or None and the limit: "time" or "size".
    """
    pipes.poll.register(wakes, select.POLLIN)
    while (remaining := until - time.monotonic()) > 0:
        for number, _ in pipes.poll.poll(remaining * 1000):
            if number == wakes:
                os.read(wakes, _CHUNK)
                status = descendants.reap().get(child)
                if status is not None:
                    return status, ""
            else:
                pipes.serve(number)
        if pipes.is_too_long:
            return None, "size"
    return None, "time"


def main() -> None:
    """Answer requests until the socket is closed."""
    channel = int(sys.argv[1])
    os.set_inheritable(channel, False)
    descendants.adopt_orphans()
    wakes = descendants.wake_on(signal.SIGCHLD)
    os.set_blocking(wakes, True)
    with os.fdopen(channel, "r+b", buffering=0) as stream:
        buffer = b""
        while data := stream.read(_CHUNK):
            *lines, buffer = (buffer + data).split(b"\n")
            for line in lines:
                request = json.loads(line)
                stream.write(json.dumps({"id": request["id"], **_run(request, wakes)}).encode() + b"\n")
