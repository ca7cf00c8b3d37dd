"""The small process between the engine and a server that it talks to over pipes: it ends whatever that started.

Its arguments are the server's words; the server has the pipes the keeper was given. When nobody holds the other end of
the input any more (the engine closed it, or was killed) the server may end by itself for a moment, then everything
below is killed; so it is when the server ends, or on SIGTERM. The exit code is the server's, 127 when it cannot be run.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time

from workbench.processes import descendants as below

_MORE_PROCESSES = 1024
_GRACE = 1.5
_SECONDS = 5.0


def _become_server(argv: list[str], keeper: int) -> None:
    os.setsid()
    below.die_with(keeper)
    below.limit_harm(_MORE_PROCESSES)
    try:
        os.execvp(argv[0], argv)
    except OSError as error:
        os.write(2, f"{argv[0]}: {error.strerror}\n".encode())


def _watch(server: int, wakes: int) -> int | None:
    """Until the server ended (its status), or nobody is left to talk to it."""
    poll = select.poll()
    poll.register(0, 0)  # never read: only the hang-up is of interest
    poll.register(wakes, select.POLLIN)
    until: float | None = None
    while until is None or time.monotonic() < until:
        ready = {number for number, _ in poll.poll(None if until is None else 50)}
        signals = os.read(wakes, 4096) if wakes in ready else b""
        status = below.reap().get(server)
        if status is not None:
            return status
        if any(number != signal.SIGCHLD for number in signals):
            return None
        if 0 in ready:
            until = time.monotonic() + _GRACE
            poll.unregister(0)
    return None


def main() -> None:
    """Start the server, watch, clean up."""
    below.adopt_orphans()
    wakes = below.wake_on(signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    keeper = os.getpid()
    server = os.fork()
    if server == 0:
        try:
            _become_server(sys.argv[1:], keeper)
        finally:
            os._exit(127)
    empty = os.open(os.devnull, os.O_WRONLY)
    os.dup2(empty, 1)  # the server's output ends with the server
    status = None
    try:
        status = _watch(server, wakes)
    finally:
        below.end_all(server, _SECONDS)
    sys.exit(status if status is not None and status >= 0 else 1)
