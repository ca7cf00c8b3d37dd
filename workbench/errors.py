"""The exception for errors that the user can act on, and functions that describe any error in one line with advice."""

from __future__ import annotations

import errno
from collections.abc import Iterator

from workbench.lazy_pattern import lazy_pattern


class WorkbenchError(Exception):
    """An error that the user can act on; the message is one line, shown without a traceback."""

    exit_code = 1


class UsageError(WorkbenchError):
    """The command line, the settings or the directory are invalid."""

    exit_code = 2


_NO_MEMORY = "the system refused more memory; close other programs or raise the limit (ulimit -v, ulimit -u)"
_NO_LIBRARY = lazy_pattern(
    r"failed to map segment|[Cc]annot allocate|out of memory|cannot create (?:shared object|link map)|start new thread"
)
"""Matches the messages of the dynamic loader (glibc, musl) and of `threading` when memory runs out."""
_EXHAUSTED = {
    errno.ENOMEM: _NO_MEMORY,
    errno.EAGAIN: _NO_MEMORY,
    errno.EMFILE: "too many files are open; raise the limit (ulimit -n)",
    errno.ENFILE: "the system has too many open files; close other programs",
    errno.ENOSPC: "the disk is full; free some space",
    errno.EDQUOT: "the disk quota is used up; free some space",
    errno.EROFS: "the disk is read-only; check the disk",
    errno.EIO: "the disk failed; check the disk",
}


def exhaustion(error: BaseException) -> str:
    """Return what the system ran out of and what to do about it, or an empty string if the
    exception has another cause.
    """
    if is_out_of_memory(error):
        return _NO_MEMORY
    reason = _EXHAUSTED.get(error.errno or 0, "") if isinstance(error, OSError) else ""
    return f"{reason} ({error.filename})" if reason and isinstance(error, OSError) and error.filename else reason


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether the exception, or one of its causes, means that the system refused memory or a thread."""
    by_number = isinstance(error, OSError) and error.errno in (errno.ENOMEM, errno.EAGAIN)
    return by_number or any(_is_out_of_memory(each) for each in _chain(error))


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the exception and its causes, because an import error often hides the exception that matters."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _is_out_of_memory(error: BaseException) -> bool:
    is_library = isinstance(error, ImportError | RuntimeError) and _NO_LIBRARY.search(str(error))
    # Python's own C code can fail without setting an exception when it gets no memory.
    is_silent = isinstance(error, SystemError) and "without " in str(error)
    return isinstance(error, MemoryError) or is_silent or bool(is_library)


def describe_fault(error: BaseException) -> str:
    """Return one line about an unexpected exception: what the system ran out of, or else that it is a bug."""
    reason = exhaustion(error)
    if reason:
        return f"{reason}; then send a message to continue"
    return f"a fault of the workbench itself, see its log: {type(error).__name__}: {error}"
