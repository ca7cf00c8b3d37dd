"""Retention of the versions of a workspace: when they are deleted, and how they are stored."""

from __future__ import annotations

import shutil
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from workbench.files.git import OwnRepository, run_git

_RETENTION_DAYS, _RETENTION_DAYS_WHEN_LARGE, _LARGE = 30, 2, 2_000_000_000
RETENTION: Final = (
    f"snapshots are deleted after {_RETENTION_DAYS} days, or after {_RETENTION_DAYS_WHEN_LARGE} if those of a"
    f" directory take more than {_LARGE // 10**9} GB"
)
"""When snapshots are deleted, as a clause in lower case."""
BUILDING: Final = "building-"
"""The prefix of the names of our temporary directories beside the objects."""
SHARED_INDEXES = "sharedindex.*"
"""The names that git gives to the larger parts of split indexes."""
_DAY = 86_400
_TIMEOUT = 300.0
_REPACK = ("repack", "-q", "-d", "--cruft", "--window=0")
"""Stores all objects in packs without searching for deltas, which would take minutes of processor time.

No reference that git knows leads to a version, so all objects but the index's go to a cruft pack. It records the age of
each object, and git drops only those that are too old and in no younger version.
"""


def prune(own: OwnRepository) -> None:
    """Delete old versions, at most once a day; if the repository has grown large, those of more than 2 days."""
    mark = own.git_dir / "pruned"
    with suppress(OSError):
        if not mark.exists():
            mark.touch()
        if time.time() - mark.stat().st_mtime < _DAY:
            return
        mark.touch()
        days = _RETENTION_DAYS_WHEN_LARGE if _size(own.git_dir / "objects") > _LARGE else _RETENTION_DAYS
        for held in own.git_dir.glob("refs/held/*"):
            if _is_older(held, days):
                held.unlink()
        _drop_objects(own, days)
        _remove_files(own, days)


def _remove_files(own: OwnRepository, days: int) -> None:
    """Remove old indexes of other sessions, and temporary directories that killed engines have left."""
    # git sets the time of the shared part of a split index whenever it is used
    for index in (*own.git_dir.glob("index-*"), *own.git_dir.glob(SHARED_INDEXES)):
        if index != own.index and _is_older(index, days):
            index.unlink()
    for directory in own.git_dir.glob(f"{BUILDING}*"):
        if _is_older(directory, 1):
            shutil.rmtree(directory, ignore_errors=True)


def _drop_objects(own: OwnRepository, days: int) -> None:
    """Drop old objects from the packs (which needs git 2.37), and then those outside of packs."""
    for command in ([*_REPACK, f"--cruft-expiration={days}.days.ago"], ["prune", f"--expire={days}.days.ago"]):
        run_git(command, cwd=own.work_tree, own=own, timeout=_TIMEOUT)


def _size(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.glob("*/*"))


def _is_older(path: Path, days: int) -> bool:
    return time.time() - path.stat().st_mtime > days * _DAY
