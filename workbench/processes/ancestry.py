"""The ancestors of a process, and the processes that hold a lock, as the kernel reports them (Linux)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_MOST_ANCESTORS: Final = 1000
_LOCKS: Final = "/proc/locks"


def ancestors(pid: int) -> Iterator[int]:
    """Yield the pids of the process and its ancestors. Raises OSError or ValueError if one has ended."""
    for _ in range(_MOST_ANCESTORS):
        yield pid
        stat = Path(f"/proc/{pid}/stat").read_bytes()
        # A name may contain spaces and parentheses.
        pid = int(stat.rpartition(b")")[2].split()[1])
        if pid <= 1:
            return


def lock_holders(path: Path) -> list[int]:
    """Return the pids of the processes that have a flock on the file; an empty list if there are none or the kernel
    does not report locks. See proc_locks(5).
    """
    try:
        info = path.stat()
        lines = Path(_LOCKS).read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return []
    identity = f"{os.major(info.st_dev):02x}:{os.minor(info.st_dev):02x}:{info.st_ino}"
    fields = [line.split() for line in lines]
    return [int(each[4]) for each in fields if each[1] == "FLOCK" and each[5] == identity]
