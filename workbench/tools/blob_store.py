"""Storage of a tool for one session: bytes by name, in private files that survive a restart, or in memory."""

from __future__ import annotations

import os
from pathlib import Path

_FRESH = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC

_ONE_WRITE = 512
"""Size up to which content is overwritten in place by one write, which no crash leaves half done."""


def _overwritten(path: Path, content: bytes) -> bool:
    """Overwrite a file of the same size in place, which saves a new file and a rename; return whether that worked."""
    try:
        opened = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return os.fstat(opened).st_size == len(content) == os.pwrite(opened, content, 0)
    except OSError:
        return False
    finally:
        os.close(opened)


class BlobStore:
    """Bytes by name, such as `undo/3f2a/1`, for one session; without a directory they are only in memory."""

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory
        self._memory: dict[str, bytes] = {}

    def put(self, name: str, content: bytes) -> None:
        """Store the content under the name, replacing any earlier content. Raises OSError if it cannot be written."""
        if self._directory is None:
            self._memory[name] = content
            return
        path = self._directory / name
        if len(content) <= _ONE_WRITE and _overwritten(path, content):
            return
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        unfinished = path.with_name(f"{path.name}.tmp")
        with os.fdopen(os.open(unfinished, _FRESH, 0o600), "wb") as file:
            file.write(content)
        unfinished.replace(path)

    def get(self, name: str) -> bytes | None:
        """Return the content; None if there is none or it cannot be read."""
        if self._directory is None:
            return self._memory.get(name)
        try:
            return (self._directory / name).read_bytes()
        except OSError:
            return None

    def drop(self, name: str) -> None:
        """Remove the content, if there is any."""
        if self._directory is None:
            self._memory.pop(name, None)
        else:
            (self._directory / name).unlink(missing_ok=True)

    def numbers(self, name: str) -> list[int]:
        """Return the numbers N of the stored entries `name/N`, in order."""
        if self._directory is None:
            inside = [entry.rpartition("/") for entry in self._memory]
            return sorted(int(last) for parent, _, last in inside if parent == name and last.isdigit())
        if not (self._directory / name).is_dir():
            return []
        return sorted(int(entry) for entry in os.listdir(self._directory / name) if entry.isdigit())  # noqa: PTH208
