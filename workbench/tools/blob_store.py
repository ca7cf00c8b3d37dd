"""Storage of a tool for one session: bytes by name, in private files that survive a restart, or in memory.

Any program that runs as the user can write to its directory, so links in it are not followed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from workbench.files.atomic import write_all
from workbench.files.root_directory import AnchoredEntry, Root, RootGone

_FRESH = os.O_WRONLY | os.O_CREAT | os.O_EXCL

_ONE_WRITE = 512
"""The most bytes that are overwritten in place, by one write, which no crash leaves half done."""


def _overwritten(entry: AnchoredEntry, content: bytes) -> bool:
    """Overwrite a file of the same size in place, which saves a new file and a rename; return whether that worked."""
    try:
        opened = entry.open(os.O_WRONLY)
    except OSError:
        return False
    try:
        info = os.fstat(opened)
        # A file with a second name may be somebody else's.
        is_ours = info.st_nlink == 1 and info.st_size == len(content)
        return is_ours and os.pwrite(opened, content, 0) == len(content)
    except OSError:
        return False
    finally:
        os.close(opened)


class BlobStore:
    """Bytes by name, such as `undo/3f2a/1`, for one session; without a directory they are only in memory."""

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory
        self._root = Root(directory or Path("/"), mode=0o700)
        self._memory: dict[str, bytes] = {}

    def put(self, name: str, content: bytes) -> None:
        """Store the content under the name, replacing any earlier content. Raises OSError if it cannot be written."""
        if self._directory is None:
            self._memory[name] = content
            return
        self._put(self._directory, name, content)

    def push(self, name: str, content: bytes, depth: int) -> None:
        """Store the content as the newest entry `name/N`, and remove the oldest ones beyond `depth`. Raises OSError."""
        numbers = self.numbers(name)
        newest = f"{name}/{max(numbers, default=0) + 1}"
        surplus = numbers[: max(0, len(numbers) + 1 - depth)]
        if self._directory is not None:
            self._put(self._directory, newest, content, surplus)
            return
        self._memory[newest] = content
        for number in surplus:
            del self._memory[f"{name}/{number}"]

    def _put(self, directory: Path, name: str, content: bytes, surplus: Iterable[int] = ()) -> None:
        """Write a file, then delete the files in the same directory whose names are the surplus numbers."""
        try:
            self._write(directory / name, content, surplus)
        except RootGone:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._write(directory / name, content, surplus)

    def _write(self, path: Path, content: bytes, surplus: Iterable[int]) -> None:
        with self._root.entry(path, make=True) as entry:
            self._replace(entry, path.name, content)
            for number in surplus:
                entry.unlink(str(number))

    @staticmethod
    def _replace(entry: AnchoredEntry, name: str, content: bytes) -> None:
        if len(content) <= _ONE_WRITE and _overwritten(entry, content):
            return
        unfinished = f"{name}.tmp"
        try:
            opened = entry.open(_FRESH, 0o600, beside=unfinished)
        except FileExistsError:
            entry.unlink(unfinished)
            opened = entry.open(_FRESH, 0o600, beside=unfinished)
        with os.fdopen(opened, "wb", buffering=0) as file:
            write_all(file, content)
        entry.rename_from(unfinished)

    def get(self, name: str) -> bytes | None:
        """Return the content; None if there is none or it cannot be read."""
        if self._directory is None:
            return self._memory.get(name)
        try:
            with self._root.entry(self._directory / name) as entry:
                return entry.read()
        except OSError:
            return None

    def drop(self, name: str) -> None:
        """Remove the content, if there is any."""
        if self._directory is None:
            self._memory.pop(name, None)
        else:
            with suppress(FileNotFoundError), self._root.entry(self._directory / name) as entry:
                entry.unlink()

    def numbers(self, name: str) -> list[int]:
        """Return the numbers N of the stored entries `name/N`, in order."""
        if self._directory is None:
            inside = [entry.rpartition("/") for entry in self._memory]
            return sorted(int(last) for parent, _, last in inside if parent == name and last.isdigit())
        try:
            entries = os.listdir(self._directory / name)  # noqa: PTH208
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted(int(entry) for entry in entries if entry.isdigit())
