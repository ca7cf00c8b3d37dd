"""The files of a session on disk: deletion, ownership and permissions of the database and the files beside it."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from workbench.files.read_only_databases import needs_no_log


def log_of(path: Path) -> Path:
    """Return the path of SQLite's write-ahead log, which holds commits that are not in the file itself yet."""
    return Path(f"{path}-wal")


def delete_file(path: Path) -> None:
    """Delete a session file and the files that SQLite keeps beside it."""
    for suffix in ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)


def ownership_doubt(path: Path) -> str:
    """Return why a file may be somebody else's, as words to follow its name; empty if nothing suggests it."""
    info = path.lstat()
    if info.st_uid != os.getuid():
        return f"belongs to another user ({info.st_uid})"
    if stat.S_ISLNK(info.st_mode):
        return f"is a link to {path.resolve()}"
    if info.st_mode & 0o022:
        return "can be written by other users"
    return "has a second name elsewhere (a hard link)" if info.st_nlink > 1 else ""


def companion_doubt(path: Path) -> str:
    """Return why a file that SQLite keeps beside a session file may be somebody else's; empty if nothing suggests it.

    SQLite uses the content of such a file no matter who wrote it.
    """
    for companion in _companions(path):
        with suppress(FileNotFoundError):
            if reason := ownership_doubt(companion):
                return f"has {companion.name} beside it, which {reason}"
    return ""


def deny_writing_to_others(path: Path) -> None:
    """Remove the write permission of group and others from our own file and the files beside it.

    SQLite creates its log with the permissions of the database; a log that others can write is not read (see
    `reading_uri`), so the front end would not see what the engine appends.
    """
    for each in (path, *_companions(path)):
        with suppress(OSError):
            mode = stat.S_IMODE(each.stat().st_mode)
            if mode & 0o022:
                each.chmod(mode & ~0o022)


def _companions(path: Path) -> tuple[Path, ...]:
    return tuple(path.with_name(path.name + ending) for ending in ("-wal", "-journal", "-shm"))


def reading_uri(path: Path) -> str:
    """Return the URI with which SQLite opens a file read-only, ignoring files beside it that may be somebody else's."""
    is_alone = companion_doubt(path) or needs_no_log(path)
    return f"{path.absolute().as_uri()}?mode=ro{'&immutable=1' if is_alone else ''}"
