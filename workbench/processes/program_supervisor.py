"""The small process between the engine and a program that runs for a tool: it ends whatever that started.

Its arguments are CHANNEL (the number of a socket), PASSED (numbers of files for the program alone, with commas), MEMORY
(a limit in bytes, 0 for none) and the program's words. On Linux it is a child subreaper. It says `P pid` on the socket,
and `E status` when the program ended; then, or when the socket closes (a timeout, an interrupt, the engine died), it
kills everything below it. Elsewhere than on Linux only the program's process group is ended.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys

from workbench.processes import descendants as below

_MORE_PROCESSES = 1024
_SECONDS = 10.0


def _become_program(argv: list[str], memory: int, keeper: int) -> None:
    """In the child: a group of its own, limits, then the program."""
    os.setsid()
    below.die_with(keeper)
    below.limit_harm(_MORE_PROCESSES, memory)
    os.execv(argv[0], argv)


def _say(channel: int, text: str) -> None:
    with contextlib.suppress(OSError):
        os.write(channel, text.encode())


def _watch(channel: int, child: int, wakes: int) -> None:
    """Until the program ended or the engine wants the end."""
    while True:
        ready, _, _ = select.select([channel, wakes], [], [])
        if wakes in ready:
            os.read(wakes, 4096)
        status = below.reap().get(child)
        if status is not None:
            _say(channel, f"E {status}\n")
            return
        if channel in ready:
            return


def main() -> None:
    """Start the program, watch, clean up."""
    channel, memory, argv = int(sys.argv[1]), int(sys.argv[3]), sys.argv[4:]
    passed = [int(number) for number in sys.argv[2].split(",") if number]
    os.set_inheritable(channel, False)
    below.adopt_orphans()
    wakes = below.wake_on(signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
    keeper = os.getpid()
    child = os.fork()
    if child == 0:
        try:
            _become_program(argv, memory, keeper)
        finally:
            os._exit(127)
    for number in (1, 2, *passed):
        os.close(number)
    _say(channel, f"P {child}\n")
    try:
        _watch(channel, child, wakes)
    finally:
        below.end_all(child, _SECONDS)
