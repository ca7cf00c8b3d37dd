"""The one exception a user may see, and how any other is told: in one line that says what to do next."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator


class WorkbenchError(Exception):
    """Something went wrong that the person can act on; the message is one clear line, without a traceback."""

    exit_code = 1


class UsageError(WorkbenchError):
    """The command line, the settings or the folder asked for do not make sense."""

    exit_code = 2


_NO_MEMORY = "the system refused more memory; close other programs or raise the limit (ulimit -v, ulimit -u)"
_NO_LIBRARY = re.compile(
    r"failed to map segment|[Cc]annot allocate|out of memory|cannot create (?:shared object|link map)|start new thread"
)
"""What the loader of shared libraries (glibc, musl) and `threading` say where there is no memory."""
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
    if any(_is_out_of_memory(each) for each in _chain(error)):
        return _NO_MEMORY
    known = _EXHAUSTED.get(error.errno or 0, "") if isinstance(error, OSError) else ""
    return f"{known} ({error.filename})" if known and isinstance(error, OSError) and error.filename else known


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """The exception and those it was raised from: a module that cannot be loaded is often replaced by another one."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _is_out_of_memory(error: BaseException) -> bool:
    is_library = isinstance(error, ImportError | RuntimeError) and _NO_LIBRARY.search(str(error))
    # C code of Python that was refused memory fails without saying why.
    is_silent = isinstance(error, SystemError) and "without exception set" in str(error)
    return isinstance(error, MemoryError) or is_silent or bool(is_library)


def describe_fault(error: BaseException) -> str:
    """One line about an exception that nobody expected: what the system ran out of, else that the fault is ours."""
    known = exhaustion(error)
    if known:
        return f"{known}; then send a message to go on"
    return f"a fault of the workbench itself, see its log: {type(error).__name__}: {error}"
