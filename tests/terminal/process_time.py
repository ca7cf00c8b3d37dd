"""Duration of something in processes, without the time they waited for a processor because of other programs.

The kernel counts for each thread how long it was ready to run and had to wait; that is subtracted from the wall-clock
time, so that a promise in seconds can be tested on a busy machine too. The time that a process itself computes or
sleeps counts in full.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import psutil

_PATIENCE = 60.0
_LOOK = 0.01


def seconds_until_gone(
    processes: Iterable[psutil.Process], begin: Callable[[], object], meanwhile: Callable[[], object] = bool
) -> float:
    """Call `begin`, wait until none of the processes is left, and return how long that took of their own time.

    `meanwhile` is called again and again, for example to read their output.
    """
    left = list(processes)
    first = {process.pid: _waited(process.pid) for process in left}
    last = dict(first)
    mine = _thread_waited(os.getpid(), threading.get_native_id())
    began = time.monotonic()
    begin()
    while left and time.monotonic() - began < _PATIENCE:
        meanwhile()
        left = [process for process in left if _is_there(process)]
        for process in left:
            last[process.pid] = max(last[process.pid], _waited(process.pid))
        time.sleep(_LOOK)
    assert not left, f"still there after {_PATIENCE} s: {[process.cmdline() for process in left]}"
    elapsed = time.monotonic() - began
    mine = _thread_waited(os.getpid(), threading.get_native_id()) - mine
    return elapsed - mine - max((last[pid] - first[pid] for pid in first), default=0.0)


def _is_there(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _waited(pid: int) -> float:
    """Return the seconds for which the first thread of a process, which ends it, was ready but did not run."""
    return _thread_waited(pid, pid)


def _thread_waited(pid: int, thread: int) -> float:
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(Path(f"/proc/{pid}/task/{thread}/schedstat").read_text().split()[1]) / 1e9
    return 0.0
