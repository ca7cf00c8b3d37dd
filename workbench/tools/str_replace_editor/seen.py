"""What the model was last shown of each file, whole, so that its edit can be merged with changes it has not seen."""

from __future__ import annotations

from pathlib import Path

from workbench.files.text_file import EditorError, Merged, decoded, digest, merge, name_of
from workbench.tools.kept import Kept

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
