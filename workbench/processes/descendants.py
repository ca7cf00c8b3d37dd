"""Control of all descendants of the current process; used by the supervisors.

Supervisors are small processes started with `-I -S`, so this module imports little and only from the standard library.
On systems other than Linux, only the process group of the child can be killed.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_MOST_AT_ONCE = 20_000


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, ctypes.c_ulong(value), 0, 0, 0)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends, even if it called `setsid` or forked twice."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with(parent: int) -> None:
    """Kill this child process when its parent ends, or at once if the parent has ended; restore the default signal
    handlers.
    """
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    for name in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(name, signal.SIG_DFL)


# RLIMIT_LOCKS: every Linux process has and inherits it, and no kernel since 2.4.25 enforces it.
_MARK = 10
_TOP = 1 << 20


def mark_descendants() -> None:
    """Mark this process, and all processes that it starts later, as one level below its current mark (Linux only).

    The mark shows that an agent started the process.
    """
    if sys.platform == "linux" and (level := mark_level()) > 0:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(_MARK, (level - 1, level - 1))


def mark_level(pid: int = 0) -> int:
    """Return the mark level of a process (0: this one), which can only decrease. Raises OSError."""
    hard = resource.prlimit(pid, _MARK)[1]
    return _TOP if hard == resource.RLIM_INFINITY else hard


def limit_harm(more_processes: int, memory: int = 0) -> None:
    """Mark the process, make the OOM killer choose it first, and let it start at most `more_processes` more processes.

    The kernel does not apply the process limit to root. `memory` is the limit of the address space in bytes; 0 means no
    limit.
    """
    mark_descendants()
    if memory:
        with contextlib.suppress(OSError, ValueError):
            _lower(resource.RLIMIT_AS, memory)
    with contextlib.suppress(OSError, ValueError, IndexError):
        with open("/proc/self/oom_score_adj", "w") as file:  # noqa: PTH123 - pathlib is slow to import here
            file.write("600")
        with open("/proc/loadavg") as file:  # noqa: PTH123
            _lower(resource.RLIMIT_NPROC, int(file.read().split()[3].split("/")[1]) + more_processes)


def _lower(limit: int, value: int) -> None:
    soft, hard = resource.getrlimit(limit)
    if soft == resource.RLIM_INFINITY or soft > value:
        resource.setrlimit(limit, (value, hard))


def start_child(become: Callable[[int], None]) -> int:
    """Fork and return the child's pid; the child calls `become` with the parent's pid, then exits with status 127."""
    supervisor = os.getpid()
    child = os.fork()
    if child == 0:
        try:
            become(supervisor)
        finally:
            os._exit(127)
    return child


def start_program(prepare: Callable[[int], None], argv: list[str], confine: Callable[[], None] = lambda: None) -> int:
    """Fork and return the child's pid; the child calls `prepare` with the parent's pid, then `confine`, and executes
    the program.

    If one of these fails, the child writes the error to its stderr and exits with status 127.
    """

    def become(supervisor: int) -> None:
        try:
            prepare(supervisor)
            confine()
            os.execvp(argv[0], argv)
        except OSError as error:
            os.write(2, f"{argv[0]}: {error.strerror}\n".encode())

    return start_child(become)


def report(channel: int, text: str) -> None:
    """Write the text to the engine; do nothing if the engine has ended."""
    with contextlib.suppress(OSError):
        os.write(channel, text.encode())


def wake_on(*names: signal.Signals) -> int:
    """Return the read end of a pipe that receives one byte, the signal's number, each time one of these signals
    arrives.
    """
    wakes, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    for name in names:
        signal.signal(name, lambda *_: None)
    return wakes


def reap() -> dict[int, int]:
    """Reap all children that have ended; return their exit statuses by pid, negative for a signal."""
    ended: dict[int, int] = {}
    with contextlib.suppress(ChildProcessError):
        while (one := os.waitpid(-1, os.WNOHANG))[0]:
            ended[one[0]] = os.waitstatus_to_exitcode(one[1])
    return ended


def end_all(child: int, seconds: float) -> bool:
    """Kill all descendants, stopping them first so that they start no others; return whether none was left within
    `seconds`.

    On systems other than Linux, only kill the process group of `child`, and return True.
    """
    if sys.platform != "linux":
        with contextlib.suppress(OSError):
            os.killpg(child, signal.SIGKILL)
        reap()
        return True
    if _is_alone():
        return True
    until = time.monotonic() + seconds
    clean = 0
    while clean < 2 and time.monotonic() < until:
        stopped: set[int] = set()
        # Stopped processes start no others.
        while fresh := [pid for pid in descendants_of(os.getpid()) if pid not in stopped]:
            _signal(fresh, signal.SIGSTOP)
            stopped.update(fresh)
            if len(stopped) > _MOST_AT_ONCE:
                break
        _signal(list(stopped), signal.SIGKILL)
        clean = 0 if stopped else clean + 1
        reap()
        if stopped:
            time.sleep(0.002)
    return clean >= 2


def _is_alone() -> bool:
    """Reap the children that have ended; return whether no descendant is left, because every orphan becomes a child of
    this process.
    """
    reap()
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return True
    return False


def descendants_of(root: int) -> list[int]:
    """Return the pids of all descendants of a process that are not zombies, parents first."""
    children: dict[int, list[tuple[int, bytes]]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208
        if name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                fields = file.read().rpartition(b")")[2].split()
                children.setdefault(int(fields[1]), []).append((int(name), fields[0]))
    pids: list[int] = []
    pending = [root]
    while pending:
        for pid, state in children.get(pending.pop(), ()):
            pending.append(pid)
            if state not in (b"Z", b"X"):
                pids.append(pid)
    return pids


def _signal(pids: list[int], number: int) -> None:
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, number)
