"""Supervisor of a server that the engine talks to over pipes: a process between them that kills everything that the
server started.

Its arguments are SANDBOX (empty, or the descriptors that `sandboxed_child` takes) and the server's command line; the
server inherits the supervisor's pipes. When the other end of the input is closed (the engine closed it, or was killed),
the server has 1.5 seconds to end on its own. Then all descendants are killed, as they are when the server ends or on
SIGTERM or SIGHUP. The exit code is the server's, 1 if it was killed, or 127 if it cannot be run.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time

from workbench.processes import descendants, sandboxed_child

_MORE_PROCESSES = 1024
_GRACE = 1.5
_SECONDS = 5.0


def _prepare(supervisor: int) -> None:
    os.setsid()
    descendants.die_with(supervisor)
    descendants.limit_harm(_MORE_PROCESSES)


def _watch(server: int, wakes: int) -> int | None:
    """Wait until the server has ended, and return its status.

    Returns None if a signal asks the supervisor to end, or if the server still runs after the grace period that starts
    when the engine closes the input.
    """
    poll = select.poll()
    # The input is never read here; only its hang-up matters.
    poll.register(0, 0)
    poll.register(wakes, select.POLLIN)
    until: float | None = None
    while until is None or time.monotonic() < until:
        ready = {number for number, _ in poll.poll(None if until is None else 50)}
        signals = os.read(wakes, 4096) if wakes in ready else b""
        status = descendants.reap().get(server)
        if status is not None:
            return status
        if any(number != signal.SIGCHLD for number in signals):
            return None
        if 0 in ready:
            until = time.monotonic() + _GRACE
            poll.unregister(0)
    return None


def main() -> None:
    """Start the server, watch it, and kill all descendants."""
    descendants.adopt_orphans()
    wakes = descendants.wake_on(signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    server, _ = sandboxed_child.start(_prepare, sys.argv[2:], sys.argv[1])
    empty = os.open(os.devnull, os.O_WRONLY)
    # Otherwise the output would stay open after the server's end.
    os.dup2(empty, 1)
    status = None
    try:
        status = _watch(server, wakes)
    finally:
        descendants.end_all(server, _SECONDS)
    sys.exit(status if status is not None and status >= 0 else 1)
