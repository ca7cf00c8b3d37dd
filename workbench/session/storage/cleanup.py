"""Cleans up at startup: leftovers of killed sessions, and old files that the tools of closed sessions have stored.

A session that ends normally deletes its lock file, so a lock file that exists and is free belongs to a killed session.
The cleanup holds that lock. No message, no action and no file of the user's is deleted.
"""

from __future__ import annotations

import logging
import os
import shutil
import sqlite3
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from workbench.config.locations import Locations, private_directory
from workbench.errors import WorkbenchError
from workbench.processes.leftovers import sweep_edited, sweep_temporary
from workbench.processes.sweep import sweep as end_marked
from workbench.session.session_names import DRAFT, EDITOR, SUFFIX, session_path, socket_path, state_directory
from workbench.session.storage.lock import SessionLock, holder
from workbench.session.storage.race_leftovers import prune_races
from workbench.session.storage.store import APPLICATION_ID
from workbench.session.storage.store_files import delete_file, reading_uri

logger = logging.getLogger(__name__)
RETENTION_DAYS: Final = 30
RETENTION_BYTES: Final = 2_000_000_000
"""The most bytes of tools' files, in all sessions together: full outputs, plots, pages, pictures, undo copies."""
_USERS: Final = frozenset({"put-back", DRAFT, "comments.json"})
"""Names in a session's state directory that hold the user's own content: earlier versions of protected files, an unsent
message and unsent review comments. They are deleted only with the session.
"""
_PRUNE_EVERY: Final = 3_600.0
"""Seconds between two prunings of the tools' files."""
_UNFINISHED = ("*.tmp", "undo/*/*.tmp", "shown/*.tmp", "seen/*.tmp")

_LAST_PREVIEWS = """
SELECT DISTINCT json_extract(file.value, '$.path')
FROM (SELECT json FROM events WHERE kind = 'action_assessed' ORDER BY seq DESC LIMIT 50) AS event,
     json_each(event.json, '$.preview') AS file
"""

_ONE_PAGE: Final = 4_096
"""The largest size of a file without tables: they were not created yet, or only in the write-ahead log."""
_BEGUN = """
SELECT count(*) FROM events WHERE kind NOT IN ('session_started', 'settings_changed')
  OR (kind = 'session_started' AND (coalesce(json_extract(json, '$.parent'), '') != ''
    OR coalesce(json_extract(json, '$.forked_from'), '') != ''))
"""


def sweep(locations: Locations) -> list[str]:
    """Delete the leftovers of killed sessions; return the ids of sessions that were deleted, having no message yet."""
    removed = []
    # in a thread, because directories of temporary files may be large
    threading.Thread(target=_sweep_directories, args=(locations,), name="session-leftovers", daemon=True).start()
    for path in _killed(locations):
        try:
            lock = SessionLock.acquire(path)
        except WorkbenchError:
            continue  # the session is running
        try:
            if _swept(locations, path):
                removed.append(path.stem)
        finally:
            lock.release()
    if removed:
        logger.info("removed sessions that were killed before they started; nothing was lost: %s", removed)
    return removed


def _sweep_directories(locations: Locations) -> None:
    sweep_temporary(end_marked)
    mark = locations.data / "state" / ".pruned"
    try:
        if time.time() - mark.stat().st_mtime < _PRUNE_EVERY:
            return
    except OSError:
        pass  # it was never pruned before
    with suppress(OSError):
        mark.touch(mode=0o600)
        prune_tool_files(locations)
        prune_races(locations, RETENTION_DAYS)


@dataclass(frozen=True, order=True)
class _StoredFile:
    """A file that a tool stored: when it was written (seconds since the epoch), its size in bytes, and its path."""

    time: float
    size: int
    path: Path


def prune_tool_files(locations: Locations) -> None:
    """Delete tools' files that are older than 30 days, then the oldest ones until the rest takes at most 2 GB.

    Nothing of an open session is deleted, and nothing that the user may have written (see `_USERS`). Files that cannot
    be deleted stay.
    """
    files: dict[Path, list[_StoredFile]] = {}
    with suppress(OSError), os.scandir(locations.data / "state") as entries:
        files = {Path(entry.path): _files_in(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)}
    total = sum(file.size for stored in files.values() for file in stored)
    oldest, doomed = time.time() - RETENTION_DAYS * 86_400, dict[Path, list[_StoredFile]]()
    for directory, file in sorted(
        ((directory, file) for directory, stored in files.items() for file in stored), key=lambda x: x[1]
    ):
        if (file.time < oldest or total > RETENTION_BYTES) and holder(_session_of(locations, directory)) is None:
            doomed.setdefault(directory, []).append(file)
            total -= file.size
    for directory, stored in doomed.items():
        _delete_files(locations, directory, stored)


def _session_of(locations: Locations, directory: Path) -> Path:
    return locations.sessions / f"{directory.name}{SUFFIX}"


def _files_in(directory: str) -> list[_StoredFile]:
    """Return the tools' files below a session's state directory; links are not followed."""
    files = []
    for parent, directories, names in os.walk(directory):
        if parent == directory:
            directories[:] = [name for name in directories if name not in _USERS]
            names = [name for name in names if name not in _USERS]
        for name in names:
            path = Path(parent, name)
            with suppress(OSError):
                info = path.lstat()
                files.append(_StoredFile(info.st_mtime, info.st_size, path))
    return files


def _delete_files(locations: Locations, directory: Path, files: list[_StoredFile]) -> None:
    """Delete files of a session while its lock prevents opening it, and then the directories left empty.

    The session itself is deleted if it is empty, and only an editor that had its id kept it.
    """
    session = _session_of(locations, directory)
    try:
        lock = SessionLock.acquire(session)
    except WorkbenchError:
        return  # the session has just been opened
    try:
        for file in files:
            with suppress(OSError):
                file.path.unlink()
        if any(file.path == directory / EDITOR for file in files) and _is_unused(session, directory):
            delete_file(session)
        for path, _, _ in os.walk(directory, topdown=False):
            with suppress(OSError):
                Path(path).rmdir()
    finally:
        lock.release()


def _killed(locations: Locations) -> Iterator[Path]:
    """Yield the sessions whose process may have been killed: with a lock file, or with a file of at most one page."""
    with suppress(OSError):
        yield from {lock.with_suffix(SUFFIX) for lock in locations.sessions.glob("*.lock")} | {
            path for path in locations.sessions.glob(f"*{SUFFIX}") if _has_at_most_a_page(path)
        }


def _has_at_most_a_page(path: Path) -> bool:
    with suppress(OSError):
        info = path.lstat()
        return stat.S_ISREG(info.st_mode) and info.st_size <= _ONE_PAGE
    return False


def _swept(locations: Locations, path: Path) -> bool:
    """Delete the leftovers of a killed session; return whether the session itself was deleted because it never
    began.
    """
    sweep_unfinished(locations, path.stem)
    with suppress(OSError):
        # an engine listens only while it holds the lock
        socket_path(locations, path.stem).unlink(missing_ok=True)
        state = locations.data / "state" / path.stem
        if path.exists() and _is_unused(path, state) and not (state / EDITOR).exists():
            delete_file(path)
            shutil.rmtree(state, ignore_errors=True)
            return True
    return False


def sweep_unfinished(locations: Locations, session_id: str) -> None:
    """Delete the unfinished files of a session; only the holder of its lock may call this."""
    for directory in _edited_directories(session_path(locations, session_id)):
        sweep_edited(directory)
    state = locations.data / "state" / session_id
    with suppress(OSError):
        for pattern in _UNFINISHED:
            for unfinished in state.glob(pattern):
                unfinished.unlink(missing_ok=True)
        for pattern in (f"index-{session_id}-kept-*", f"index-{session_id}.lock"):
            for copy in (locations.data / "versions").glob(f"*/{pattern}"):
                copy.unlink(missing_ok=True)


def _edited_directories(path: Path) -> set[Path]:
    """Return the directories of the files that the last actions of a session showed in their previews."""
    try:
        with closing(sqlite3.connect(reading_uri(path), uri=True, timeout=5)) as db:
            rows = db.execute(_LAST_PREVIEWS).fetchall()
    except sqlite3.Error:
        return set()
    return {Path(str(file)).parent for (file,) in rows if str(file).startswith("/")}


def never_began(path: Path) -> bool:
    """Return whether a session file has no message and no action; the file of a sub-agent or a fork always has one.

    The session's process was killed while it created the file, or before the user sent anything.
    """
    return _has_none(path, _BEGUN)


def _is_unused(path: Path, state: Path) -> bool:
    """Return whether a session has no message, no action, and in its state directory nothing of the user's."""
    return never_began(path) and not any((state / name).exists() for name in _USERS)


def mark_for_editor(locations: Locations, session_id: str, directory: Path) -> None:
    """Note that an editor has the id of a session in `directory`, which is kept although it is empty.

    Raises WorkbenchError or OSError.
    """
    (private_directory(state_directory(locations, session_id)) / EDITOR).write_bytes(os.fsencode(directory))


def marked_directory(locations: Locations, session_id: str) -> Path | None:
    """Return the directory of a session whose id an editor has; None for any other session."""
    try:
        return Path(os.fsdecode((state_directory(locations, session_id) / EDITOR).read_bytes()))
    except OSError:
        return None


def unmark_for_editor(locations: Locations, session_id: str) -> None:
    """Let a session be deleted at its end if it is empty: no editor needs it any more."""
    with suppress(OSError):
        (state_directory(locations, session_id) / EDITOR).unlink(missing_ok=True)


def discard_empty(locations: Locations, session_id: str) -> None:
    """Delete a session without a message that no process has open; one that has it open does that at its end."""
    path = session_path(locations, session_id)
    unmark_for_editor(locations, session_id)
    with suppress(WorkbenchError):
        lock = SessionLock.acquire(path)
        try:
            state = state_directory(locations, session_id)
            if not path.exists() or _is_unused(path, state):
                delete_file(path)
                shutil.rmtree(state, ignore_errors=True)
        finally:
            lock.release()


def has_no_event(path: Path) -> bool:
    """Return whether a session file has no events at all: its process was killed while it created the file."""
    return _has_none(path, "SELECT count(*) FROM events")


def discard_unfinished(path: Path) -> None:
    """Delete a session file without any event, so that it can be created again; only the holder of its lock may."""
    if path.exists() and has_no_event(path):
        delete_file(path)


def _has_none(path: Path, events: str) -> bool:
    """Return whether a session file is undamaged and `events`, a query that counts events, returns 0."""
    try:
        if path.stat().st_size == 0 and not Path(f"{path}-wal").exists():
            return True
        with closing(sqlite3.connect(reading_uri(path), uri=True, timeout=5)) as db:
            if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                if db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
                    return False
                if db.execute(events).fetchone()[0]:
                    return False
            # A damaged page may look empty.
            return bool(db.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok")
    except (sqlite3.Error, OSError):
        return False  # damaged: it is listed as damaged
