"""Supervisor of one shell: the process between the engine and bash that kills everything the shell started.

Run by `execute_bash.terminal` with the arguments SOCKET SANDBOX PTY DIRECTORY BASH ARGUMENT…, where SANDBOX is empty or
the descriptors that `sandboxed_child` takes; standard library only. On Linux it is a child subreaper: processes that
leave the shell (`setsid`, `nohup`, double fork) become its children, so it finds them all. It kills them when the
socket closes (the engine closed it or died), when the shell ends, or on SIGTERM.

On the socket it writes `P pid`, then `E status` when the shell has ended (negative for a signal). It answers every byte
it receives with `.`, which shows that it is alive; `k` announces an orderly end. If the socket closes without a `k`,
the engine died, and the supervisor deletes DIRECTORY, the shell's private files. Its exit code is 1 if it could not
kill everything. On systems other than Linux, only the shell's process group is killed.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import sys
import termios
from functools import partial

from workbench.processes import descendants, sandboxed_child

_MORE_PROCESSES = 4096
"""The number of processes that a shell may start in addition to those already running; stops a fork bomb (except
root's).
"""
_SECONDS = 5.0


def _prepare(pty: int, supervisor: int) -> None:
    """In the child: acquire the terminal, arrange to die with the supervisor, lower the limits."""
    os.setsid()
    fcntl.ioctl(pty, termios.TIOCSCTTY, 0)
    for number in (0, 1, 2):
        os.dup2(pty, number)
    descendants.die_with(supervisor)
    descendants.limit_harm(_MORE_PROCESSES)


def _watch(channel: int, shell: int, wakes: int) -> bool:
    """Wait until the shell has ended, the engine closes the socket, or a signal asks the supervisor to end.

    Returns whether the engine died: the socket closed without a `k`. SIGCHLD for another process does not end the wait.
    """
    poll = select.poll()
    for number in (channel, wakes):
        poll.register(number, select.POLLIN)
    data = b"."
    while data and b"k" not in data:
        ready = {number for number, _ in poll.poll()}
        if wakes in ready and not _woken(channel, shell, os.read(wakes, 512)):
            return False
        if channel in ready:
            data = _answer(channel)
    return not data


def _woken(channel: int, shell: int, signals: bytes) -> bool:
    """Reap children; return False if the shell was one of them, or if one of the `signals` asks the supervisor to
    end.
    """
    status = descendants.reap().get(shell)
    if status is not None:
        descendants.report(channel, f"E {status}\n")
    return status is None and all(number == signal.SIGCHLD for number in signals)


def _answer(channel: int) -> bytes:
    """Answer each byte from the engine with a `.`; return the bytes, or none if the engine has closed the socket."""
    try:
        data = os.read(channel, 512)
    except OSError:
        return b""
    descendants.report(channel, "." * len(data))
    return data


def main() -> None:
    """Start the shell, watch it, and kill all descendants."""
    channel, sandbox, pty, directory = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
    os.set_inheritable(channel, False)
    descendants.adopt_orphans()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    wakes = descendants.wake_on(signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP)
    shell, pid = sandboxed_child.start(partial(_prepare, pty), sys.argv[5:], sandbox)
    os.close(pty)
    descendants.report(channel, f"P {pid}\n")
    is_orphan = is_clean = False
    try:
        is_orphan = _watch(channel, shell, wakes)
    finally:
        is_clean = descendants.end_all(shell, _SECONDS)
    if is_orphan and os.path.basename(directory).startswith("ohw-shell-"):  # noqa: PTH119
        import shutil  # slow to import and rarely needed

        shutil.rmtree(directory, ignore_errors=True)
    sys.exit(not is_clean)
