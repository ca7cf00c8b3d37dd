"""Writes a file that the user asked for: an export of a session or of decisions."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from workbench.errors import UsageError


def save_lines(lines: Iterable[str], file: Path) -> None:
    """Write the lines to a file that only its owner can read. Raises UsageError if that fails.

    An existing file stays unchanged until all lines are written.
    """
    target = Path(os.path.realpath(file))
    try:
        with _temporary_beside(target) as (descriptor, temporary):
            with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as out:
                out.writelines(f"{line}\n" for line in lines)
            temporary.replace(target)
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror or error}") from error


@contextmanager
def _temporary_beside(target: Path) -> Iterator[tuple[int, Path]]:
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", dir=target.parent)
    try:
        yield descriptor, Path(name)
    finally:
        Path(name).unlink(missing_ok=True)
