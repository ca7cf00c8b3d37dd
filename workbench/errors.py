"""The one exception a user may see, and how any other is told: in one line that says what to do next."""

from __future__ import annotations

import errno


class WorkbenchError(Exception):
    """Something went wrong that the person can act on; the message is one clear line, without a traceback."""

    exit_code = 1


class UsageError(WorkbenchError):
    """The command line, the settings or the folder asked for do not make sense."""

    exit_code = 2


_NO_MEMORY = "the system refused more memory; close other programs or raise the limit (ulimit -v, ulimit -u)"
_EXHAUSTED = {
    errno.ENOMEM: _NO_MEMORY,
    errno.EAGAIN: _NO_MEMORY,
    errno.EMFILE: "too many files are open; raise the limit (ulimit -n)",
    errno.ENFILE: "the system has too many open files; close other programs",
    errno.ENOSPC: "the disk is full; free some space",
    errno.EDQUOT: "the disk quota is used up; free some space",
    errno.EROFS: "the disk is read-only; look at the disk",
    errno.EIO: "the disk failed; look at the disk",
}


def exhaustion(error: BaseException) -> str:
    """What the system ran out of, and what to do; empty for any other exception."""
    if isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and "start new thread" in str(error)):
        return _NO_MEMORY
    known = _EXHAUSTED.get(error.errno or 0, "") if isinstance(error, OSError) else ""
    return f"{known} ({error.filename})" if known and isinstance(error, OSError) and error.filename else known


def describe_fault(error: BaseException) -> str:
    """One line about an exception that nobody expected: what the system ran out of, else that the fault is ours."""
    known = exhaustion(error)
    if known:
        return f"{known}; then send a message to go on"
    return f"a fault of the workbench itself, see its log: {type(error).__name__}: {error}"
