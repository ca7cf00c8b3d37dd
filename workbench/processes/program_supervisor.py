"""Supervisor of a program that runs for a tool: a process in between that kills everything the program started.

Its arguments are CHANNEL (the descriptor of a socket), SANDBOX (empty, or the descriptors that `sandboxed_child`
takes), PASSED (comma-separated descriptors for the program alone), MEMORY (a limit in bytes, 0 for none) and the
program's command line. On Linux it is a child subreaper. It writes `P pid` to the socket when the program has started,
and `E status` when it has ended. Then, or when the socket is closed (because of a timeout or an interrupt, or because
the engine died), it kills all descendants. On systems other than Linux, only the program's process group is killed.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from functools import partial

from workbench.processes import descendants, sandboxed_child

_MORE_PROCESSES = 1024
_SECONDS = 10.0


def _prepare(memory: int, supervisor: int) -> None:
    """In the child: start a session, arrange to die with the supervisor, lower the limits."""
    os.setsid()
    descendants.die_with(supervisor)
    descendants.limit_harm(_MORE_PROCESSES, memory)


def _watch(channel: int, child: int, wakes: int) -> None:
    """Wait until the program has ended or the engine requests its end."""
    while True:
        ready, _, _ = select.select([channel, wakes], [], [])
        if wakes in ready:
            os.read(wakes, 4096)
        status = descendants.reap().get(child)
        if status is not None:
            descendants.report(channel, f"E {status}\n")
            return
        if channel in ready:
            return


def main() -> None:
    """Start the program, watch it, and kill all descendants."""
    channel, sandbox, memory = int(sys.argv[1]), sys.argv[2], int(sys.argv[4])
    passed = [int(number) for number in sys.argv[3].split(",") if number]
    os.set_inheritable(channel, False)
    descendants.adopt_orphans()
    wakes = descendants.wake_on(signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
    child, pid = sandboxed_child.start(partial(_prepare, memory), sys.argv[5:], sandbox)
    for number in (1, 2, *passed):
        os.close(number)
    descendants.report(channel, f"P {pid}\n")
    try:
        _watch(channel, child, wakes)
    finally:
        is_clean = descendants.end_all(child, _SECONDS)
    sys.exit(not is_clean)
