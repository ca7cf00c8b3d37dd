"""The files that the user has marked as reviewed.

A mark applies to the change that was shown: once the file changes again, it counts as not reviewed.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Final

from workbench.view.review.json_file import keep_json, read_json
from workbench.view.state import FileState

FILE: Final = "reviewed.json"
MOST_MARKS: Final = 5_000
"""Maximum number of marks; the oldest is dropped first."""


class ReviewedFiles:
    """The reviewed changes, each by its path and a digest of the file before and after; kept in a file if possible."""

    def __init__(self, directory: Path | None = None) -> None:
        """Read the marks in the session's state directory, if there is one, and save them there after each change."""
        self.directory = directory
        self._marks: dict[tuple[str, str], None] = {}
        """Path and digest of each reviewed change, the oldest first."""
        self._cached: dict[str, tuple[FileState, str]] = {}
        entries = read_json(directory / FILE) if directory is not None else None
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, list) and len(entry) == 2 and all(isinstance(part, str) for part in entry):
                self._marks[entry[0], entry[1]] = None
        self._paths = {path for path, _ in self._marks}

    def __contains__(self, file: FileState) -> bool:
        """Return whether this change of the file is reviewed; only files with a mark are hashed."""
        return file.path in self._paths and (file.path, self._digest(file)) in self._marks

    def toggle(self, file: FileState) -> bool:
        """Mark the change of a file as reviewed, or drop its mark; return whether it is reviewed now."""
        mark = file.path, self._digest(file)
        is_reviewed = mark not in self._marks
        if is_reviewed:
            self._marks[mark] = None
            while len(self._marks) > MOST_MARKS:
                del self._marks[next(iter(self._marks))]
        else:
            del self._marks[mark]
        self._paths = {path for path, _ in self._marks}
        if self.directory is not None:
            keep_json(self.directory / FILE, [list(each) for each in self._marks])
        return is_reviewed

    def numbers(self, files: Sequence[FileState]) -> list[int]:
        """Return which of the files are reviewed, counted from 0."""
        return [number for number, file in enumerate(files) if file in self]

    def _digest(self, file: FileState) -> str:
        """Return the digest of a change; the last one of each path is cached."""
        of, digest = self._cached.get(file.path, (None, ""))
        if of is None or _content(of) != _content(file):
            digest = _digest_of(file)
            self._cached[file.path] = file, digest
        return digest


def _content(file: FileState) -> tuple[str | None, ...]:
    return file.before, file.after, file.note, file.content_id


def _digest_of(file: FileState) -> str:
    total = blake2b(digest_size=16)
    for text in _content(file):
        data = b"-" if text is None else b"+" + text.encode("utf-8", "surrogatepass")
        total.update(b"%d:" % len(data) + data)
    return total.hexdigest()


def next_unreviewed(count: int, reviewed: Sequence[int], after: int) -> int:
    """Return the first of `count` files after `after`, wrapping around, that is not reviewed; -1 if all are."""
    done = set(reviewed)
    order = [*range(after + 1, count), *range(min(after + 1, count))]
    return next((number for number in order if number not in done), -1)


def rest_text(count: int, reviewed: int) -> str:
    """Return how many of `count` files are left to review; for a single one, only that it is reviewed."""
    if reviewed >= count:
        return f"all {count} files reviewed" if count > 1 else "reviewed" if count else ""
    return f"{count - reviewed} of {count} files to review" if count > 1 else ""
