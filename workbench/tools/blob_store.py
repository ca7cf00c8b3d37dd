"""What a tool keeps for the rest of a session: bytes by name, in private files that survive a restart, or in memory."""

from __future__ import annotations

import os
from pathlib import Path

_FRESH = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC

_ONE_WRITE = 512
"""Bytes that are written in place by one call: no kill and no power cut leaves half of them."""


def _overwritten(path: Path, content: bytes) -> bool:
    """Whether the file was there with as many bytes, and holds these now: that saves a new file and a rename."""
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


class Kept:
    """A drawer for one session; names look like `undo/3f2a/1`. Without a folder everything is held in memory."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._memory: dict[str, bytes] = {}

    def put(self, name: str, content: bytes) -> None:
        """Keep it, in place of what had that name; raises OSError when there is no room."""
        if self._folder is None:
            self._memory[name] = content
            return
        place = self._folder / name
        if len(content) <= _ONE_WRITE and _overwritten(place, content):
            return
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        unfinished = place.with_name(f"{place.name}.tmp")
        with os.fdopen(os.open(unfinished, _FRESH, 0o600), "wb") as file:
            file.write(content)
        unfinished.replace(place)

    def get(self, name: str) -> bytes | None:
        """What was kept; None when that is nothing or cannot be read."""
        if self._folder is None:
            return self._memory.get(name)
        try:
            return (self._folder / name).read_bytes()
        except OSError:
            return None

    def drop(self, name: str) -> None:
        """Keep it no longer; nothing happens where there is none."""
        if self._folder is None:
            self._memory.pop(name, None)
        else:
            (self._folder / name).unlink(missing_ok=True)

    def numbers(self, name: str) -> list[int]:
        """The entries `name/1`, `name/2` … that are kept, in order."""
        if self._folder is None:
            inside = [entry.rpartition("/") for entry in self._memory]
            return sorted(int(last) for parent, _, last in inside if parent == name and last.isdigit())
        if not (self._folder / name).is_dir():
            return []
        return sorted(int(entry) for entry in os.listdir(self._folder / name) if entry.isdigit())  # noqa: PTH208
