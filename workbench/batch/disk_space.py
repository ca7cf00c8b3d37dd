"""Whether a worker can store what attempts write: on a full disk, each of them would fail, the next one too."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from workbench.errors import exhaustion
from workbench.text import visible_path

LEAST_SPACE: Final = 10_000_000
"""The bytes that a file must be able to have; an attempt whose own files are larger fails by itself."""


def space_problem(directories: Iterable[Path]) -> str:
    """Return in one line why no attempt can store its files in one of these directories; empty if there is space.

    A directory that does not exist would be created in the nearest one that does.
    """
    for directory in directories:
        nearest = next(each for each in (directory, *directory.parents) if each.is_dir())
        try:
            # Unbuffered, and without a trace: a file without a name is gone once it is closed, however that happens.
            with tempfile.TemporaryFile(dir=nearest, buffering=0) as file:
                remaining = LEAST_SPACE
                while remaining > 0:
                    remaining -= file.write(bytes(min(remaining, 1 << 20)))
        except OSError as error:
            reason = exhaustion(OSError(error.errno, error.strerror)) or error.strerror or str(error)
            return f"{reason} ({visible_path(str(nearest))})"
    return ""
