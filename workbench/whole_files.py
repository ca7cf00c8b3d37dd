"""Files that are written whole or not at all: settings and rules of the person's, what was agreed to, what is known."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from workbench.errors import UsageError

_MOST_NOTES = 1_000
_LARGEST_NOTED = 200_000
"""Bytes of a content that is noted; of larger protected files the content is never compared."""
_own_writes: dict[str, bytes] = {}
"""What this process wrote last, so that a session does not take it for the work of a command."""


def replace_file(path: Path, raw: bytes) -> None:
    """Give the file this content; its mode stays, a link stays one, a new file is private. Raises OSError."""
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
    """Delete a file of ours where that is possible.

    On a disk that failed or has turned read-only it stays, and that must not hide why we are cleaning up.
    """
    with suppress(OSError):
        path.unlink(missing_ok=True)


def note_own_write(path: Path, raw: bytes | None) -> None:
    """Note that this process is about to give the file this content (None: to delete it)."""
    if len(_own_writes) >= _MOST_NOTES:
        _own_writes.pop(next(iter(_own_writes)), None)
    if raw is not None and len(raw) > _LARGEST_NOTED:
        _own_writes.pop(str(path), None)
        return
    _own_writes[str(path)] = hashlib.sha256(raw).digest() if raw is not None else b""


def is_own_write(path: str, digest: bytes) -> bool:
    """Whether this process itself gave the file the content with this SHA-256 digest (empty: deleted it).

    A note counts once, and no child process can make one.
    """
    if _own_writes.get(path) != digest:
        return False
    _own_writes.pop(path, None)
    return True


def replace_json(path: Path, told: Mapping[str, Any]) -> None:
    """The same with data as JSON; raises UsageError."""
    try:
        replace_file(path, json.dumps(told, indent=1).encode())
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from error
