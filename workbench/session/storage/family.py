"""The forks of a session: they read its events from its file, and get them before the file is deleted."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from msgspec.structs import replace

from workbench.errors import WorkbenchError
from workbench.protocol.events import Event, SessionStarted
from workbench.session.storage.event_rows import write_row
from workbench.session.storage.lock import SessionInUse, SessionLock
from workbench.session.storage.shared_history import SharedPart, copy_part, parts_of, rename_part, set_parts
from workbench.session.storage.signatures import sign
from workbench.session.storage.store import Store, StoreError


@contextmanager
def family_lock(directory: Path) -> Iterator[None]:
    """Hold the lock to create a fork, or to delete a session that forks may read. Raises WorkbenchError."""
    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise WorkbenchError(f"cannot read {directory}: {error.strerror or error}") from error
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def forks_of(path: Path) -> list[Path]:
    """Return the session files that read events from this one."""
    return [file for file in sorted(path.parent.glob(f"*{path.suffix}")) if _part_of(file, path.stem) is not None]


def _part_of(file: Path, session: str) -> SharedPart | None:
    return next((part for part in parts_of(file) if part.session == session), None)


def begin_fork(path: Path, parts: Sequence[SharedPart], first: SessionStarted, *others: Event) -> None:
    """Create the file of a fork with its first event, the shared parts and the events after those. Raises StoreError.

    If it cannot be written as a whole, there is no file.
    """
    start = parts[-1].last if parts else 1
    events = (replace(first, seq=1), *(replace(event, seq=seq) for seq, event in enumerate(others, start + 1)))

    def write(db: sqlite3.Connection) -> None:
        set_parts(db, parts)
        sign(db, path.stem, [write_row(db, event) for event in events])

    Store.create(path, write).close()


def bequeath(path: Path) -> None:
    """Copy the events of a session that is to be deleted to the fork that shares most of them; the others share its.

    Call this with the family lock. Raises SessionInUse if a fork is open, or StoreError; each fork is whole either way.
    """
    forks = [(part, file) for file in forks_of(path) if (part := _part_of(file, path.stem)) is not None]
    if not forks:
        return
    forks.sort(key=lambda fork: fork[0].last, reverse=True)
    with ExitStack() as stack:
        for _, file in forks:
            stack.callback(_locked(path, file).release)
        heir = forks[0][1]
        with Store.open(heir) as store:
            part = forks[0][0]
            copied = store.events(part.first - 1, part.last - part.first + 1)
            store.change(lambda db: copy_part(db, part, copied))
        for _, file in forks[1:]:
            with Store.open(file) as store:
                store.change(lambda db: rename_part(db, path.stem, heir.stem))


def _locked(path: Path, fork: Path) -> SessionLock:
    try:
        return SessionLock.acquire(fork)
    except SessionInUse as error:
        raise StoreError(
            f"the session {path.stem} was not deleted: its fork {fork.stem} is open (process {error.pid}) and "
            "reads it; close that one first"
        ) from error
