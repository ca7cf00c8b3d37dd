"""The small process between the engine and one shell: it is the shell's parent and ends everything the shell started.

Started by `guard` as `python -I -S guardian.py SOCKET PTY FOLDER BASH ARGUMENT…`; standard library only. On Linux it
is a child subreaper: processes that left the shell (`setsid`, `nohup`, double fork) become its children, so that it
finds them all. It ends them when the socket closes (the engine closed it or died), when the shell ends, or on SIGTERM.

On the socket it says `P pid`, then `E status` when the shell ended (a signal is negative); every byte it gets comes
back as `.`, which shows that it lives; `k` says that the end is in order. Without it the engine died, and the guardian
removes FOLDER, the private files of the shell. Its exit code is 1 when it could not end everything. Elsewhere than on
Linux only the shell's process groups are ended.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import resource
import select
import signal
import sys
import termios
import time

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_MORE_PROCESSES = 4096
"""What a shell may start on top of what runs already: a fork bomb ends there (not for root)."""


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, ctypes.c_ulong(value), 0, 0, 0)


def _become_shell(pty: int, argv: list[str], guardian: int) -> None:
    """In the child: take the terminal, die with the guardian, limit the harm, be bash."""
    os.setsid()
    fcntl.ioctl(pty, termios.TIOCSCTTY, 0)
    for number in (0, 1, 2):
        os.dup2(pty, number)
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != guardian:
        os._exit(1)
    for name in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(name, signal.SIG_DFL)
    _limit_harm()
    os.execv(argv[0], argv)


def _limit_harm() -> None:
    """Out of memory, the kernel takes the shell's processes first; a fork bomb stops at a limit."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        with open("/proc/self/oom_score_adj", "w") as file:  # noqa: PTH123 - pathlib is slow to import here
            file.write("600")
        with open("/proc/loadavg") as file:  # noqa: PTH123
            running = int(file.read().split()[3].split("/")[1])
        soft, hard = resource.getrlimit(resource.RLIMIT_NPROC)
        wanted = running + _MORE_PROCESSES
        if soft == resource.RLIM_INFINITY or soft > wanted:
            resource.setrlimit(resource.RLIMIT_NPROC, (wanted, hard))


def _descendants() -> list[int]:
    """All processes below this one that are no zombies."""
    children: dict[int, list[tuple[int, bytes]]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208
        if name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                fields = file.read().rpartition(b")")[2].split()
                children.setdefault(int(fields[1]), []).append((int(name), fields[0]))
    found: list[int] = []
    below = [os.getpid()]
    while below:
        for pid, state in children.get(below.pop(), ()):
            below.append(pid)
            if state not in (b"Z", b"X"):
                found.append(pid)
    return found


def _signal(pids: list[int], number: int) -> None:
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, number)


def _reap() -> dict[int, int]:
    """Status by pid of all children that ended."""
    ended: dict[int, int] = {}
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            ended[pid] = status
    return ended


def _end_all(shell: int) -> bool:
    """Stop, then kill everything below, again and again until nothing is left (at most 5 s); whether that worked."""
    if sys.platform != "linux":
        with contextlib.suppress(OSError):
            os.killpg(shell, signal.SIGKILL)
        _reap()
        return True
    until = time.monotonic() + 5
    clean = 0
    while clean < 2 and time.monotonic() < until:
        stopped: set[int] = set()
        while fresh := [pid for pid in _descendants() if pid not in stopped]:  # stopped ones start no others
            _signal(fresh, signal.SIGSTOP)
            stopped.update(fresh)
            if len(stopped) > 20_000:
                break
        _signal(list(stopped), signal.SIGKILL)
        clean = 0 if stopped else clean + 1
        _reap()
        if stopped:
            time.sleep(0.002)
    return clean >= 2


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
    status = _reap().get(shell)
    if status is not None:
        _say(channel, f"E {os.waitstatus_to_exitcode(status)}\n")
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
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    wakes, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, lambda *_: None)
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
        is_clean = _end_all(shell)
    if is_orphan and os.path.basename(folder).startswith("ohw-shell-"):  # noqa: PTH119
        import shutil  # slow to import, and rarely needed

        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(not is_clean)


if __name__ == "__main__":
    main()
