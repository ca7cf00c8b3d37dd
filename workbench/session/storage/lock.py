"""Lets only one process at a time write a session: a flock on a file beside it, free at once when its holder dies."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path

from workbench.errors import WorkbenchError
from workbench.files.state_files import discard_file

_POLL = 0.05
_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL)


class SessionInUse(WorkbenchError):
    """Another process holds the session; `pid` is its process id (0 if unknown)."""

    def __init__(self, name: str, pid: int) -> None:
        holder_name = f"process {pid}" if pid else "another process"
        super().__init__(f"the session {name} is in use by {holder_name}; wait until it ends, or end it")
        self.pid = pid


class SessionLock:
    """A lock held from `acquire` to `release`; its file contains the process id of the holder."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor

    @classmethod
    def acquire(cls, session: Path, wait: float = 0.0) -> SessionLock:
        """Lock the session file; try for `wait` seconds, then raise SessionInUse.

        Raises WorkbenchError if the lock file cannot be opened or the file system has no locks.
        """
        path = lock_path(session)
        until = time.monotonic() + wait
        while True:
            descriptor = _try(path)
            if descriptor is not None:
                with suppress(OSError):  # a full disk: the lock holds, but its holder is not named
                    _name_holder(descriptor)
                return cls(path, descriptor)
            if time.monotonic() >= until:
                raise SessionInUse(session.stem, _read_pid(path))
            time.sleep(_POLL)

    def release(self) -> None:
        """Release the session; a second call does nothing."""
        if self._descriptor < 0:
            return
        discard_file(self._path)  # while still held: a waiting process sees that the file is gone and tries again
        os.close(self._descriptor)
        self._descriptor = -1


def lock_path(session: Path) -> Path:
    """Return the lock file beside a session file."""
    return session.with_suffix(".lock")


def holder(session: Path) -> int | None:
    """Return the pid of the process that holds the session (0 if unknown), or None if it is free."""
    path = lock_path(session)
    return _read_pid(path) if is_locked(path) else None


def is_locked(path: Path) -> bool:
    """Return whether a process has locked a file; it may have to wait for the moment that this takes."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # without locks, no process can have one
        return False
    finally:
        os.close(descriptor)
    return False


def _name_holder(descriptor: int) -> None:
    # With a second hard link it may be one of the user's files.
    if os.fstat(descriptor).st_nlink == 1:
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())


def _try(path: Path) -> int | None:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise WorkbenchError(f"cannot lock the session: {path}: {error.strerror or error}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(descriptor).st_ino == path.stat().st_ino:
            return descriptor
    except OSError as error:
        if error.errno in _NO_LOCKS:
            os.close(descriptor)
            raise WorkbenchError(
                f"the file system of {path.parent} has no locks ({error.strerror}), so two processes could write to "
                "one session: set XDG_DATA_HOME to a directory on a local disk"
            ) from error
    os.close(descriptor)
    return None


def _read_pid(path: Path) -> int:
    try:
        return int(path.read_text().strip() or 0)
    except (OSError, ValueError):
        return 0
