"""What the model was last shown of each file, whole, so that its edit can be merged with changes it has not seen."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from workbench.files.text_file import EditorError, Merged, decoded, digest, merge, name_of
from workbench.tools.blob_store import Kept
from workbench.tools.str_replace_editor.difference import shared_ends

LARGEST = 1_000_000
"""Bytes of a file that is kept; an edit of a larger one that changed has to wait until it was viewed again."""


class Seen:
    """The contents, one a file, and the merge that was shown last."""

    def __init__(self, kept: Kept) -> None:
        self._kept = kept
        self._last: tuple[tuple[str, str, str], Merged] | None = None
        self._offered: dict[Path, str] = {}

    def put(self, path: Path, raw: bytes | None) -> None:
        """The model knows this content now; raises OSError."""
        if raw is not None and len(raw) <= LARGEST:
            self._kept.put(_name(path), raw)
        else:
            self._kept.drop(_name(path))

    def text(self, path: Path, shown: str) -> str | None:
        """The content with the digest `shown`, None when it was not kept."""
        raw = self._kept.get(_name(path))
        if raw is None or digest(raw) != shown:
            return None
        try:
            return decoded(path, raw)[1]
        except EditorError:
            return None

    def merged(self, seen: str, theirs: str, wanted: str) -> Merged:
        """The two changes in one text; asked again for the same it answers at once."""
        key = (seen, theirs, wanted)
        if self._last is None or self._last[0] != key:
            self._last = (key, merge(*key))
        return self._last[1]

    def offer(self, path: Path, was: str) -> None:
        """A merge with the content of this digest was shown."""
        self._offered[path] = was

    def was_offered(self, path: Path, was: str) -> bool:
        """Whether the last merge that was shown for the file is with this content."""
        return self._offered.get(path) == was


def _name(path: Path) -> str:
    return f"seen/{name_of(path)}"


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
