"""Checks whether the path of an open file still leads to it, and whether its disk is writable."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeAlias

Identity: TypeAlias = tuple[int, int, int]
"""Device, inode and size of a file."""


def identity_of(path: Path) -> Identity | None:
    """Return the identity of a file, or None if it does not exist."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size


def is_still(before: Identity, path: Path) -> bool:
    """Return whether the path still leads to the same file, not truncated. SQLite never shrinks an open file."""
    now = identity_of(path)
    return now is not None and now[:2] == before[:2] and now[2] >= before[2]


def is_disk_read_only(path: Path) -> bool:
    """Return whether the path is on a file system that is mounted read-only."""
    try:
        return bool(os.statvfs(path).f_flag & os.ST_RDONLY)
    except OSError:
        return False
