"""What attempts have cost that have no outcome: their worker or client was killed, or they were repeated.

The cost is in a file beside the other files of the attempt, in US dollars, and survives its repetitions.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from workbench.batch.attempt_progress import PROGRESS_FILE, read_progress
from workbench.files.state_files import replace_file

DISCARDED_FILE: Final = "discarded-cost"


def discarded_cost(directory: Path) -> float:
    """Return what earlier runs of the attempt with these files have cost, apart from what its progress says."""
    with suppress(OSError, msgspec.MsgspecError):
        return msgspec.json.decode((directory / DISCARDED_FILE).read_bytes(), type=float)
    return 0.0


def discard_cost(directory: Path, cost: float) -> None:
    """Add to what earlier runs of an attempt have cost. Raises OSError."""
    if cost and directory.is_dir():
        replace_file(directory / DISCARDED_FILE, msgspec.json.encode(discarded_cost(directory) + cost))


def discard_progress(directory: Path) -> None:
    """Count what a killed run of an attempt has spent as discarded, and delete its progress. Raises OSError."""
    progress = read_progress(directory)
    if progress is not None:
        discard_cost(directory, progress.cost)
    (directory / PROGRESS_FILE).unlink(missing_ok=True)


def cost_without_outcomes(attempts: Path) -> float:
    """Return what all attempts with files in this directory have cost apart from their outcomes."""
    directories: list[Path] = []
    with suppress(OSError):
        directories += map(Path, os.scandir(attempts))
    progress = (each for each in map(read_progress, directories) if each is not None)
    return sum(map(discarded_cost, directories)) + sum(each.cost for each in progress)
