"""The directories of races: where they are, and which of them are deleted at startup."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from workbench.config.locations import Locations

RECORD: Final = "race.json"
"""The file in the directory of a race that says what it is about."""
START: Final = "start"
"""The directory in there with the copy of the workspace that the attempts start from, until all of them have ended."""
COPY_DAYS: Final = 7
"""How long the copy of a race that was not completed is kept, so that it can be resumed."""
_LOCK: Final = "lock"
_DAY: Final = 86_400


def races_of(locations: Locations) -> Path:
    """Return the directory that contains those of the races."""
    return locations.data / "races"


def prune_races(locations: Locations, days: int) -> None:
    """Delete races that ended more than `days` days ago, and copies of workspaces that killed ones have left.

    Nothing of a running race is deleted, and what one that was not completed needs to be resumed only after a week.
    """
    for directory in races_of(locations).glob("*"):
        with suppress(OSError), _locked(directory) as is_free:
            if is_free:
                _prune(locations, directory, days)


def _prune(locations: Locations, directory: Path, days: int) -> None:
    age = time.time() - directory.stat().st_mtime
    delete_copies(locations, directory)
    if age > COPY_DAYS * _DAY or not _may_resume(directory):
        delete_start(directory)
    if age > days * _DAY:
        shutil.rmtree(directory, ignore_errors=True)


def delete_copies(locations: Locations, directory: Path) -> None:
    """Delete the copies of the workspace that the attempts of a race worked in; none of them runs any more."""
    try:
        nonce = json.loads((directory / "run.json").read_bytes())["nonce"]
    except (OSError, ValueError, TypeError, KeyError):
        return
    if isinstance(nonce, str) and nonce.isalnum():
        beside = locations.data.parent / "ohw-batch"
        for path in (beside / nonce, *(beside / "ohw-workspaces").glob(f"{nonce}-*")):
            shutil.rmtree(path, ignore_errors=True)


def delete_start(directory: Path) -> None:
    """Delete the copy of the workspace that the attempts of a race start from."""
    shutil.rmtree(directory / START, ignore_errors=True)


def _may_resume(directory: Path) -> bool:
    """Return whether a race was created completely, and some of its attempts have not ended."""
    try:
        return not json.loads((directory / RECORD).read_bytes()).get("is_complete")
    except (OSError, ValueError, AttributeError):
        return False


@contextmanager
def _locked(directory: Path) -> Iterator[bool]:
    """Yield whether no process runs the race, whose directory is locked meanwhile. Raises OSError."""
    descriptor = os.open(directory / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        yield False
    else:
        yield True
    finally:
        os.close(descriptor)
