"""The small process between the engine and one shell: it is the shell's parent and ends everything the shell started.

Started by `execute_bash.guard` with the words SOCKET PTY FOLDER BASH ARGUMENT…; standard library only. On Linux it
is a child subreaper: processes that left the shell (`setsid`, `nohup`, double fork) become its children, so that it
finds them all. It ends them when the socket closes (the engine closed it or died), when the shell ends, or on SIGTERM.

On the socket it says `P pid`, then `E status` when the shell ended (a signal is negative); every byte it gets comes
back as `.`, which shows that it lives; `k` says that the end is in order. Without it the engine died, and the guardian
removes FOLDER, the private files of the shell. Its exit code is 1 when it could not end everything. Elsewhere than on
Linux only the shell's process groups are ended.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import sys
import termios

from workbench.processes import descendants as below

_MORE_PROCESSES = 4096
"""What a shell may start on top of what runs already: a fork bomb ends there (not for root)."""
_SECONDS = 5.0


def _become_shell(pty: int, argv: list[str], guardian: int) -> None:
    """In the child: take the terminal, die with the guardian, limit the harm, be bash."""
    os.setsid()
    fcntl.ioctl(pty, termios.TIOCSCTTY, 0)
    for number in (0, 1, 2):
        os.dup2(pty, number)
    below.die_with(guardian)
    below.limit_harm(_MORE_PROCESSES)
    os.execv(argv[0], argv)


def _say(channel: int, text: str) -> None:
    with contextlib.suppress(OSError):
        os.write(channel, text.encode())


def _watch(channel: int, shell: int, wakes: int) -> bool:
    """Until the shell or the engine is gone; whether the engine went without a word."""
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
    """Reap who ended; false when that was the shell, or when the guardian is asked to end."""
    status = below.reap().get(shell)
    if status is not None:
        _say(channel, f"E {status}\n")
    return status is None and all(number == signal.SIGCHLD for number in signals)


def _answer(channel: int) -> bytes:
    """Show the engine that the guardian lives; what it said, empty when it is gone."""
    try:
        data = os.read(channel, 512)
    except OSError:
        return b""
    _say(channel, "." * len(data))
    return data


def main() -> None:
    """Start the shell, watch, clean up."""
    channel, pty, folder, argv = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4:]
    os.set_inheritable(channel, False)
    below.adopt_orphans()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    wakes = below.wake_on(signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP)
    guardian = os.getpid()
    shell = os.fork()
    if shell == 0:
        try:
            _become_shell(pty, argv, guardian)
        finally:
            os._exit(127)
    os.close(pty)
    _say(channel, f"P {shell}\n")
    is_orphan = is_clean = False
    try:
        is_orphan = _watch(channel, shell, wakes)
    finally:
        is_clean = below.end_all(shell, _SECONDS)
    if is_orphan and os.path.basename(folder).startswith("ohw-shell-"):  # noqa: PTH119
        import shutil  # slow to import, and rarely needed

        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(not is_clean)
