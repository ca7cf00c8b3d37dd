"""Earlier versions of edited files, ten deep, in a private folder so that they survive a restart.

Each entry is one file: a line of JSON (with the digest of what follows), then the bytes the edited file had. Without a
folder they are held in memory.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

from workbench.tools.str_replace_editor.text_file import digest

DEPTH = 10


@dataclass(frozen=True)
class Earlier:
    """A file before an edit (`existed` is false before its creation) and the digest of what the edit made of it."""

    existed: bool
    made: str
    raw: bytes = b""


class UndoCopies:
    """A stack of earlier versions for each file."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._memory: dict[Path, list[Earlier]] = {}

    def push(self, path: Path, earlier: Earlier) -> None:
        """Remember the version that an edit is about to replace; raises OSError when it cannot be kept."""
        if self._folder is None:
            stack = self._memory.setdefault(path, [])
            stack.append(earlier)
            del stack[:-DEPTH]
            return
        folder = self._folder_of(path)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        numbers = self._numbers(folder)
        self._write(folder / f"{max(numbers, default=0) + 1}", earlier)
        for number in numbers[: len(numbers) - DEPTH + 1 if len(numbers) >= DEPTH else 0]:
            (folder / f"{number}").unlink(missing_ok=True)

    def last(self, path: Path) -> Earlier | None:
        """The version before the last edit, or None when none is kept (a damaged copy counts as none)."""
        if self._folder is None:
            stack = self._memory.get(path)
            return stack[-1] if stack else None
        numbers = self._numbers(self._folder_of(path))
        return self._read(self._folder_of(path) / f"{numbers[-1]}") if numbers else None

    def drop(self, path: Path) -> None:
        """Forget the version before the last edit."""
        if self._folder is None:
            self._memory.get(path, []).pop()
            return
        folder = self._folder_of(path)
        numbers = self._numbers(folder)
        (folder / f"{numbers[-1]}").unlink(missing_ok=True)

    def _folder_of(self, path: Path) -> Path:
        assert self._folder is not None
        return self._folder / hashlib.blake2b(os.fsencode(path), digest_size=16).hexdigest()

    def _numbers(self, folder: Path) -> list[int]:
        """The entries from the oldest to the newest."""
        if not folder.is_dir():
            return []
        return sorted(int(entry.name) for entry in folder.iterdir() if entry.name.isdigit())

    def _write(self, place: Path, earlier: Earlier) -> None:
        head = json.dumps({"existed": earlier.existed, "made": earlier.made, "kept": digest(earlier.raw)})
        unfinished = place.with_suffix(".tmp")
        opened = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(opened, "wb") as file:
            file.write(head.encode() + b"\n")
            file.write(earlier.raw)
        unfinished.replace(place)

    def _read(self, place: Path) -> Earlier | None:
        with place.open("rb") as file:
            head = file.readline()
            raw = file.read()
        try:
            told = json.loads(head)
            is_whole = told["kept"] == digest(raw)  # not so after a power cut in the middle of writing it
            return Earlier(told["existed"], told["made"], raw) if is_whole else None
        except (ValueError, TypeError, LookupError):
            return None
