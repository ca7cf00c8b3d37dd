"""Reads SQLite databases in directories that cannot be written, in which SQLite cannot create the files beside them."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

_TRIES: Final = 5


def needs_no_log(path: Path) -> bool:
    """Return whether a database can only be read as a file that does not change: it has no log, and none can be made
    beside it.
    """
    return not os.access(path.parent, os.W_OK) and not _size(_log(path))


@contextmanager
def opened_to_read(path: Path) -> Iterator[sqlite3.Connection]:
    """Yield a connection to a database, which may be in a directory that cannot be written, and be written by others.

    What is only in its log is read too: from a copy, if SQLite cannot share the log. Raises sqlite3.Error or OSError.
    """
    if needs_no_log(path):
        with closing(_connected(path, "&immutable=1")) as connection:
            yield connection
    elif os.access(path.parent, os.W_OK) or path.with_name(f"{path.name}-shm").exists():
        with closing(_connected(path)) as connection:
            yield connection
    else:
        with tempfile.TemporaryDirectory(prefix="ohw-") as directory:
            copy = _copied(path, Path(directory))
            with closing(_connected(copy)) as connection:
                yield connection


def _connected(path: Path, more: str = "") -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro{more}", uri=True)


def _copied(path: Path, directory: Path) -> Path:
    """Copy a database and its log, which fit together if neither was written meanwhile. Raises OSError if they were."""
    for _ in range(_TRIES):
        before = _stamps(path)
        for each in (path, _log(path)):
            shutil.copyfile(each, directory / each.name)
        if _stamps(path) == before:
            return directory / path.name
    raise OSError(f"{path} was written while it was read; try again")


def _stamps(path: Path) -> list[tuple[int, int]]:
    return [(status.st_mtime_ns, status.st_size) for status in (path.stat(), _log(path).stat())]


def _log(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
