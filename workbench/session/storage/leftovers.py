"""What killed sessions left behind: unfinished files, index copies, sessions that never began; swept at a start.

A session that ends in order deletes its lock file, so those whose lock file is there and free were killed. While one is
swept its lock is held. Nothing that holds an event, and no file of the user's, is deleted.
"""

from __future__ import annotations

import logging
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from workbench.config import Locations
from workbench.errors import WorkbenchError
from workbench.session.names import SUFFIX, session_path
from workbench.session.storage.lock import SessionLock
from workbench.session.storage.store import APPLICATION_ID, delete_file
from workbench.tools.leftovers import sweep_edited, sweep_temporary

logger = logging.getLogger(__name__)
_UNFINISHED = ("*.tmp", "undo/*/*.tmp", "shown/*.tmp", "seen/*.tmp")

_LAST_SHOWN = """
SELECT DISTINCT json_extract(file.value, '$.path')
FROM (SELECT json FROM events WHERE kind = 'action_assessed' ORDER BY seq DESC LIMIT 50) AS event,
     json_each(event.json, '$.preview') AS file
"""


def sweep(locations: Locations) -> list[str]:
    """Delete what killed sessions left; the ids of those that had never begun and are gone now."""
    removed = []
    # folders of temporary files may be large
    threading.Thread(target=sweep_temporary, name="session-leftovers", daemon=True).start()
    for path in _killed(locations):
        try:
            lock = SessionLock.take(path)
        except WorkbenchError:
            continue  # it lives
        try:
            if _swept(locations, path):
                removed.append(path.stem)
        finally:
            lock.release()
    if removed:
        logger.info("sessions that were killed before they began are removed, nothing was lost: %s", removed)
    return removed


def _killed(locations: Locations) -> Iterator[Path]:
    with suppress(OSError):
        yield from [lock.with_suffix(SUFFIX) for lock in locations.sessions.glob("*.lock")]


def _swept(locations: Locations, path: Path) -> bool:
    """Whether the session had never begun."""
    sweep_unfinished(locations, path.stem)
    with suppress(OSError):
        if path.exists() and never_began(path):
            delete_file(path)
            shutil.rmtree(locations.data / "state" / path.stem, ignore_errors=True)
            return True
    return False


def sweep_unfinished(locations: Locations, session_id: str) -> None:
    """Delete the unfinished files of a session; only the holder of its lock may."""
    for folder in _edited_folders(session_path(locations, session_id)):
        sweep_edited(folder)
    state = locations.data / "state" / session_id
    with suppress(OSError):
        for pattern in _UNFINISHED:
            for unfinished in state.glob(pattern):
                unfinished.unlink(missing_ok=True)
        for pattern in (f"index-{session_id}-kept-*", f"index-{session_id}.lock"):
            for copy in (locations.data / "versions").glob(f"*/{pattern}"):
                copy.unlink(missing_ok=True)


def _edited_folders(path: Path) -> set[Path]:
    """Where the last actions of a session wrote files that were shown."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=5)) as db:
            rows = db.execute(_LAST_SHOWN).fetchall()
    except sqlite3.Error:
        return set()
    return {Path(str(file)).parent for (file,) in rows if str(file).startswith("/")}


def never_began(path: Path) -> bool:
    """Whether the file is a session without any event: its process was killed while it was made."""
    try:
        if path.stat().st_size == 0 and not Path(f"{path}-wal").exists():
            return True
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=5)) as db:
            if not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                return True
            if db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
                return False
            return not db.execute("SELECT count(*) FROM events").fetchone()[0]
    except (sqlite3.Error, OSError):
        return False  # damaged: it is listed as such
