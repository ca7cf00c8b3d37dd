"""The last edits of each file, ten deep, as what they took out and put in; used to take them back.

An entry is one line of JSON, then the bytes that the edit took out. Only a file that is exactly as the edit left it is
taken back, so the little that is kept gives every byte of the earlier version.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from workbench.files.text_file import digest, name_of
from workbench.tools.kept import Kept
from workbench.tools.str_replace_editor.difference import shared_ends

DEPTH = 10


@dataclass(frozen=True)
class Step:
    """An edit: at `start`, `removed` became `added` other bytes. Digests before ("" where no file was) and after."""

    was: str
    made: str
    start: int = 0
    removed: bytes = b""
    added: int = 0

    @classmethod
    def between(cls, before: bytes | None, after: bytes, was: str, ends: tuple[int, int] | None = None) -> Step:
        """The edit that made `after` out of `before`, whose digest is `was`.

        `ends` are numbers of bytes that are the same at the beginning and at the end, where they are known.
        """
        if before is None:
            return cls("", digest(after))
        head, tail = ends or shared_ends(before, after)
        return cls(was, digest(after), head, before[head : len(before) - tail], len(after) - head - tail)

    def taken_back(self, raw: bytes) -> bytes:
        """What the file held before the edit that made `raw` of it."""
        return b"".join((raw[: self.start], self.removed, raw[self.start + self.added :]))

    def to_bytes(self) -> bytes:
        """The entry that is kept."""
        head = [self.was, self.made, self.start, self.added, digest(self.removed)]
        return json.dumps(head).encode() + b"\n" + self.removed

    @classmethod
    def from_bytes(cls, entry: bytes) -> Step | None:
        """The step of an entry; None when it is damaged, as after a power cut in the middle of writing it."""
        line, _, removed = entry.partition(b"\n")
        try:
            was, made, start, added, whole = json.loads(line)
        except (ValueError, TypeError):
            return None
        return cls(was, made, start, removed, added) if whole == digest(removed) else None


class UndoSteps:
    """A stack of steps for each file."""

    def __init__(self, kept: Kept) -> None:
        self._kept = kept

    def push(self, path: Path, step: Step) -> None:
        """Remember an edit that is about to be made; raises OSError when it cannot be kept."""
        stack = _stack(path)
        numbers = self._kept.numbers(stack)
        self._kept.put(f"{stack}/{max(numbers, default=0) + 1}", step.to_bytes())
        for number in numbers[: max(0, len(numbers) + 1 - DEPTH)]:
            self._kept.drop(f"{stack}/{number}")

    def last(self, path: Path) -> Step | None:
        """The last edit, or None when none is kept."""
        entry = self._kept.get(self._newest(path))
        return Step.from_bytes(entry) if entry is not None else None

    def drop(self, path: Path) -> None:
        """Forget the last edit."""
        self._kept.drop(self._newest(path))

    def _newest(self, path: Path) -> str:
        stack = _stack(path)
        return f"{stack}/{max(self._kept.numbers(stack), default=0)}"


def _stack(path: Path) -> str:
    return f"undo/{name_of(path)}"
