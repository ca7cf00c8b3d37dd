"""Tells the user's screens from processes of an agent, which must never hold the pen; used by the engine's server.

Two signs, as either alone can be shed. A process below an engine has it among its ancestors, until a parent in between
is killed. And it has inherited a hard limit that only root can raise again: an engine lowers its own once, so that all
it starts, however detached, is at or below it, and the screens that started it are above. An engine that runs inside
another one's shell lowers the limit once more and still knows its own screens.
"""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

# RLIMIT_LOCKS: every Linux process has and inherits it, and no kernel since 2.4.25 enforces it.
_MARK = 10
_TOP = 1 << 20
_MOST_ANCESTORS = 1000


def mark_descendants() -> None:
    """Give this process, and all that it starts from here on, the mark of an agent's processes (on Linux)."""
    if sys.platform != "linux":
        return
    level = _level(resource.getrlimit(_MARK)[1])
    if level > 0:
        with suppress(OSError, ValueError):
            resource.setrlimit(_MARK, (level - 1, level - 1))


def is_of_an_agent(pid: int) -> bool:
    """Whether an agent started that process, as far as the system tells; one that is gone already counts as such."""
    if sys.platform != "linux":
        return False
    if pid <= 0:  # in a namespace that cannot be looked into
        return True
    try:
        level = _level(resource.prlimit(pid, _MARK)[1])
        above = list(_ancestors(pid))
    except (OSError, ValueError):
        return True
    if level <= _level(resource.getrlimit(_MARK)[1]):
        return True
    ours = set(_ancestors(os.getpid())) - {os.getpid()}
    return any(each == os.getpid() or (each not in ours and _is_engine(each)) for each in above)


def _level(hard: int) -> int:
    return _TOP if hard == resource.RLIM_INFINITY else hard


def _ancestors(pid: int) -> Iterator[int]:
    """The process itself and those above it; raises OSError or ValueError when it is gone."""
    for _ in range(_MOST_ANCESTORS):
        yield pid
        stat = Path(f"/proc/{pid}/stat").read_bytes()
        pid = int(stat.rpartition(b")")[2].split()[1])  # a name may hold blanks and brackets
        if pid <= 1:
            return


def _is_engine(pid: int) -> bool:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return (b"-m", b"workbench.engine") in pairwise(words)
