"""Writes a file that the user asked for: an export of a session or of decisions."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from workbench.errors import UsageError


def save_lines(lines: Iterable[str], file: Path) -> None:
    """Write the lines to a file that only its owner can read. Raises UsageError if that fails.

    An existing file stays unchanged until all lines are written, and is then replaced. A device or a pipe is written to
    directly.
    """
    _save((f"{line}\n".encode(errors="replace") for line in lines), file)


def save_bytes(content: bytes, file: Path) -> None:
    """Write the content to a file, as `save_lines` does. Raises UsageError if that fails."""
    _save((content,), file)


def _save(parts: Iterable[bytes], file: Path) -> None:
    target = Path(os.path.realpath(file))
    try:
        if _is_stream(file):
            _write(os.open(file, os.O_WRONLY | os.O_CLOEXEC), parts)
            return
        with _temporary_beside(target) as (descriptor, temporary):
            _write(descriptor, parts)
            temporary.replace(target)
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror or error}") from error


def _is_stream(file: Path) -> bool:
    """Return whether the path leads to something that exists and is neither a regular file nor a directory."""
    try:
        mode = file.stat().st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def _write(descriptor: int, parts: Iterable[bytes]) -> None:
    with os.fdopen(descriptor, "wb") as out:
        out.writelines(parts)


@contextmanager
def _temporary_beside(target: Path) -> Iterator[tuple[int, Path]]:
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", dir=target.parent)
    try:
        yield descriptor, Path(name)
    finally:
        Path(name).unlink(missing_ok=True)
