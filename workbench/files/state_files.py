"""Atomic replacement of our own small files: settings, rules, approvals, records."""

from __future__ import annotations

import json
import os
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from workbench.errors import UsageError
from workbench.files.digests import sha256

_MOST_NOTES = 1_000
_LARGEST_NOTED = 5_000_000
"""The largest content, in bytes, whose hash is recorded."""
_own_writes: dict[str, bytes] = {}
"""The SHA-256 of what this process last wrote to each path, so a session does not attribute it to a command."""
_listeners: list[Callable[[str, bytes], None]] = []
_thread = threading.local()
"""Its `is_listening` says whether a listener is running in the thread."""


def replace_file(path: Path, raw: bytes) -> None:
    """Replace a file's content atomically, keeping its mode; a new file is private. Raises OSError.

    If the path is a link, the file that it leads to is replaced.
    """
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, name = tempfile.mkstemp(prefix=f".{target.stem}-", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            Path(name).chmod(target.stat().st_mode & 0o777)
        note_own_write(target, raw)
        Path(name).replace(target)
    except BaseException:
        discard_file(Path(name))
        raise


def discard_file(path: Path) -> None:
    """Delete a file of ours if possible.

    An OSError, as on a failed or read-only disk, is ignored, so it does not hide the error that led here.
    """
    with suppress(OSError):
        path.unlink(missing_ok=True)


def on_own_write(listener: Callable[[str, bytes], None]) -> None:
    """Call `listener` before each write of this process with the path and the content's SHA-256 digest (`b""` for a
    deletion). It is not called for more than 5 MB, nor for what it writes itself.
    """
    if listener not in _listeners:
        _listeners.append(listener)


def note_own_write(path: Path, raw: bytes | None) -> None:
    """Record that this process is about to write this content, or to delete the file if `raw` is None."""
    if raw is not None and len(raw) > _LARGEST_NOTED:
        _own_writes.pop(str(path), None)
        return
    digest = sha256(raw) if raw is not None else b""
    note_digest(str(path), digest)
    if getattr(_thread, "is_listening", False):
        return
    _thread.is_listening = True
    try:
        for listener in _listeners:
            listener(str(path), digest)
    finally:
        _thread.is_listening = False


def note_digest(path: str, digest: bytes) -> None:
    """Record that this process, or a front end, writes content with this SHA-256 digest (`b""`: deletes the file)."""
    if len(_own_writes) >= _MOST_NOTES:
        _own_writes.pop(next(iter(_own_writes)), None)
    _own_writes[path] = digest


def is_own_write(path: str, digest: bytes) -> bool:
    """Return whether this process or a front end wrote the content with this SHA-256 digest, or deleted the file
    (`b""`).

    A record is used once, and no child process can create one.
    """
    if _own_writes.get(path) != digest:
        return False
    _own_writes.pop(path, None)
    return True


def replace_json(path: Path, data: Mapping[str, Any]) -> None:
    """Replace the content of a file with data as JSON. Raises UsageError if it cannot be written."""
    try:
        replace_file(path, json.dumps(data, indent=1).encode())
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from error
