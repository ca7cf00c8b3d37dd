"""The last version of each file that the model has viewed, for merging its edits, and the steps for undo."""

from __future__ import annotations

import codecs
import json
from pathlib import Path

import msgspec

from workbench.diff.merge import Merged, merge
from workbench.files.encodings import Coding
from workbench.files.text_file import EditorError, decoded, digest, name_of
from workbench.tools.blob_store import BlobStore
from workbench.tools.str_replace_editor.difference import shared_ends

LARGEST = 1_000_000
"""The size, in bytes, of the largest file that is stored; a larger one that changed must be viewed again before an
edit.
"""


class Viewed(msgspec.Struct, frozen=True):
    """The digest of the content that the model has viewed, and its encoding unless that is UTF-8.

    The encoding is stored because an edit may remove the characters by which it was recognized.
    """

    digest: str
    coding: Coding | None = None

    def to_bytes(self) -> bytes:
        """Return the stored form."""
        coding = self.coding
        if coding is None or coding == Coding():
            return self.digest.encode()
        return json.dumps([self.digest, coding.encoding, coding.bom.hex(), coding.source]).encode()

    @classmethod
    def from_bytes(cls, entry: bytes) -> Viewed:
        """Return the stored entry; for a damaged entry, one with a digest that no content has."""
        if not entry.startswith(b"["):
            return cls(entry.decode("ascii", "replace"))
        try:
            viewed_digest, encoding, bom, source = json.loads(entry)
            codecs.lookup(encoding)
            coding = Coding(encoding, bytes.fromhex(bom), source)
        except (ValueError, TypeError, LookupError):
            return cls("")
        return cls(viewed_digest, coding)


class LastViewed:
    """The last viewed content of each file, and the last merge offered for it."""

    def __init__(self, blobs: BlobStore) -> None:
        self._blobs = blobs
        self._last: tuple[tuple[str, str, str], Merged] | None = None
        self._offered: dict[Path, str] = {}

    def put(self, path: Path, raw: bytes | None) -> None:
        """Store the content that the model has viewed; None, or more than `LARGEST`, removes it. Raises OSError."""
        if raw is not None and len(raw) <= LARGEST:
            self._blobs.put(_name(path), raw)
        else:
            self._blobs.drop(_name(path))

    def text(self, path: Path, viewed: Viewed) -> str | None:
        """Return the stored content as text; None if it is not the content that was viewed."""
        raw = self._blobs.get(_name(path))
        if raw is None or digest(raw) != viewed.digest:
            return None
        try:
            return decoded(path, raw, viewed.coding)[1]
        except EditorError:
            return None

    def merged(self, base: str, theirs: str, ours: str) -> Merged:
        """Return the three-way merge of both changes; the last result is cached."""
        key = (base, theirs, ours)
        if self._last is None or self._last[0] != key:
            self._last = (key, merge(*key))
        return self._last[1]

    def offer(self, path: Path, digest_before: str) -> None:
        """Record that a merge with the content of this digest was previewed."""
        self._offered[path] = digest_before

    def was_offered(self, path: Path, digest_before: str) -> bool:
        """Return whether the last previewed merge of the file is with the content of this digest."""
        return self._offered.get(path) == digest_before


def _name(path: Path) -> str:
    return f"seen/{name_of(path)}"


DEPTH = 10


class Step(msgspec.Struct, frozen=True):
    """An edit: the bytes `removed` at `start` were replaced with `added` other bytes. `digest_before` is "" if there
    was no file.
    """

    digest_before: str
    digest_after: str
    start: int = 0
    removed: bytes = b""
    added: int = 0

    @classmethod
    def between(
        cls, before: bytes | None, after: bytes, digest_before: str, ends: tuple[int, int] | None = None
    ) -> Step:
        """Return the edit from `before`, whose digest is `digest_before`, to `after`.

        `ends` are the numbers of equal bytes at the beginning and at the end, if they are known.
        """
        if before is None:
            return cls("", digest(after))
        head, tail = ends or shared_ends(before, after)
        return cls(digest_before, digest(after), head, before[head : len(before) - tail], len(after) - head - tail)

    def undone(self, raw: bytes) -> bytes:
        """Return the content before the edit; `raw` is the content after it."""
        return b"".join((raw[: self.start], self.removed, raw[self.start + self.added :]))

    def to_bytes(self) -> bytes:
        """Return the step as a stored entry."""
        head = [self.digest_before, self.digest_after, self.start, self.added, digest(self.removed)]
        return msgspec.json.encode(head) + b"\n" + self.removed

    @classmethod
    def from_bytes(cls, entry: bytes) -> Step | None:
        """Return the step of a stored entry; None if it is damaged, for example by a crash while it was written."""
        line, _, removed = entry.partition(b"\n")
        try:
            digest_before, digest_after, start, added, whole = json.loads(line)
        except (ValueError, TypeError):
            return None
        return cls(digest_before, digest_after, start, removed, added) if whole == digest(removed) else None


class UndoSteps:
    """A stack of at most `DEPTH` steps for each file."""

    def __init__(self, blobs: BlobStore) -> None:
        self._blobs = blobs

    def push(self, path: Path, step: Step) -> None:
        """Store an edit that is about to be made. Raises OSError if it cannot be stored."""
        self._blobs.push(_stack(path), step.to_bytes(), DEPTH)

    def last(self, path: Path) -> Step | None:
        """Return the last edit, or None if there is none or it is damaged."""
        entry = self._blobs.get(self._newest(path))
        return Step.from_bytes(entry) if entry is not None else None

    def drop(self, path: Path) -> None:
        """Remove the last edit."""
        self._blobs.drop(self._newest(path))

    def _newest(self, path: Path) -> str:
        stack = _stack(path)
        return f"{stack}/{max(self._blobs.numbers(stack), default=0)}"


def _stack(path: Path) -> str:
    return f"undo/{name_of(path)}"
