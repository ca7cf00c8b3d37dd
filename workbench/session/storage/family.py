"""The forks of a session: they read its events from its file, so they get a copy before that file is deleted."""

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
    """Hold the lock that is needed to create a fork, or to delete a session that forks may read.

    `directory` is the one with the session files. On a file system without locks, nothing is locked. Raises
    WorkbenchError.
    """
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
    """Create the file of a fork: its first event, the shared parts, and its other events after those. Raises
    StoreError.

    If it cannot be written completely, no file is left.
    """
    start = parts[-1].last if parts else 1
    events = (replace(first, seq=1), *(replace(event, seq=seq) for seq, event in enumerate(others, start + 1)))

    def write(db: sqlite3.Connection) -> None:
        set_parts(db, parts)
        sign(db, path.stem, [write_row(db, event) for event in events])

    Store.create(path, write).close()


def bequeath(path: Path) -> None:
    """Before a session is deleted, copy its events to the fork that shares most of them; other forks then share that
    one's.

    Call this while holding the family lock. Raises StoreError, for example if a fork is open; each fork stays readable
    then.
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
