"""The small process between the engine and one piece of Python: it ends whatever the code started; run by `process`.

Run as `python -I -S keeper.py SOCKET CODE PYTHON` (numbers of open files; the code is read from CODE). On Linux it is a
child subreaper, so that processes which left the group (`setsid`, double fork) become its children. When the code ends
it says `E status` on the socket; then, or when the socket closes (a timeout, an interrupt, the engine died), it kills
everything below it. Elsewhere than on Linux only the code's process group is ended. Standard library only.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import select
import signal
import sys
import time

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_CODE = 3
_RUN = f"exec(compile(__import__('os').fdopen({_CODE}, 'rb').read(), '<code>', 'exec'))"
_MORE_PROCESSES = 1024
"""What the code may start on top of what runs already (not for root)."""
_MEMORY = 4 << 30


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, ctypes.c_ulong(value), 0, 0, 0)


def _become_python(code: int, python: str, keeper: int) -> None:
    """In the child: a group of its own, limits, then the interpreter."""
    os.setsid()
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != keeper:
        os._exit(1)
    for name in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(name, signal.SIG_DFL)
    _limit_harm()
    os.set_inheritable(code, False)
    os.dup2(code, _CODE, inheritable=True)
    os.execv(python, [python, "-u", "-c", _RUN])


def _limit_harm() -> None:
    """Out of memory the kernel takes this first; memory and processes have a limit."""
    with contextlib.suppress(OSError, ValueError):
        _lower(resource.RLIMIT_AS, _MEMORY)
    with contextlib.suppress(OSError, ValueError, IndexError):
        with open("/proc/self/oom_score_adj", "w") as file:  # noqa: PTH123 - pathlib is slow to import here
            file.write("600")
        with open("/proc/loadavg") as file:  # noqa: PTH123
            _lower(resource.RLIMIT_NPROC, int(file.read().split()[3].split("/")[1]) + _MORE_PROCESSES)


def _lower(limit: int, wanted: int) -> None:
    soft, hard = resource.getrlimit(limit)
    if soft == resource.RLIM_INFINITY or soft > wanted:
        resource.setrlimit(limit, (wanted, hard))


def _descendants() -> list[int]:
    """All processes below this one that are no zombies."""
    children: dict[int, list[tuple[int, bytes]]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208
        if name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                fields = file.read().rpartition(b")")[2].split()
                children.setdefault(int(fields[1]), []).append((int(name), fields[0]))
    found, below = [], [os.getpid()]
    while below:
        for pid, state in children.get(below.pop(), ()):
            below.append(pid)
            if state not in (b"Z", b"X"):
                found.append(pid)
    return found


def _reap(wanted: int) -> int | None:
    """Collect all children that ended; the status of the wanted one when it is among them."""
    status = None
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == wanted:
                status = os.waitstatus_to_exitcode(ended[1])
    return status


def _end_all(child: int) -> None:
    """Stop, then kill what is below, until nothing is left (at most 10 s)."""
    if sys.platform != "linux":
        with contextlib.suppress(OSError):
            os.killpg(child, signal.SIGKILL)
        return
    until = time.monotonic() + 10
    while time.monotonic() < until:
        stopped: set[int] = set()
        while fresh := [pid for pid in _descendants() if pid not in stopped]:  # stopped ones start no others
            _signal(fresh, signal.SIGSTOP)
            stopped.update(fresh)
        if not stopped:
            return
        _signal(list(stopped), signal.SIGKILL)
        _reap(child)
        time.sleep(0.002)


def _signal(pids: list[int], number: int) -> None:
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, number)


def _watch(channel: int, child: int, wakes: int) -> None:
    """Until the code ended or the engine wants the end."""
    while True:
        ready, _, _ = select.select([channel, wakes], [], [])
        if wakes in ready:
            os.read(wakes, 4096)
        status = _reap(child)
        if status is not None:
            with contextlib.suppress(OSError):
                os.write(channel, b"E %d\n" % status)
            return
        if channel in ready:
            return


def main() -> None:
    """Start the code, watch, clean up."""
    channel, code, python = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    os.set_inheritable(channel, False)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    wakes, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    for name in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(name, lambda *_: None)
    keeper = os.getpid()
    child = os.fork()
    if child == 0:
        try:
            _become_python(code, python, keeper)
        finally:
            os._exit(127)
    for number in (1, 2, code):
        os.close(number)
    try:
        _watch(channel, child, wakes)
    finally:
        _end_all(child)


if __name__ == "__main__":
    main()
