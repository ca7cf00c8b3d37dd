"""What changed between two versions as the events hold it: texts where they can be shown, else a line about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from workbench.files.text_file import EditorError, decoded
from workbench.protocol.events import FileDelta
from workbench.session.workspace.repository import Change, Repository
from workbench.text import well_formed

MOST_FILES = 400
"""Files of one change whose texts an event holds."""
LONGEST = 300_000
"""Bytes of the longest text that an event holds."""
_MOST_BYTES = 4_000_000
_NOWHERE = Path()


@dataclass(frozen=True)
class Deltas:
    """The files of a change, at most MOST_FILES, and how many there are beside them."""

    files: tuple[FileDelta, ...] = ()
    more: int = 0


@dataclass
class _Budget:
    """The blobs whose bytes are read: the small ones first come, until it is enough."""

    sizes: Mapping[str, int]
    left: int = _MOST_BYTES
    taken: dict[str, None] = field(default_factory=dict)

    def take(self, blob: str) -> None:
        size = self.sizes.get(blob, LONGEST + 1)
        if size <= min(LONGEST, self.left):
            self.left -= size
            self.taken[blob] = None


def deltas(repository: Repository, changes: Sequence[Change], known: Mapping[str, str | None]) -> Deltas:
    """The changes as events hold them, without files that are `known` already to hold this text (by absolute path)."""
    contents = [change for change in changes if change.before != change.after]
    shown = contents[:MOST_FILES]
    blobs = list(dict.fromkeys(blob for change in shown for blob in (change.before, change.after) if blob))
    budget = _Budget(repository.sizes(blobs) if blobs else {})
    for blob in blobs:
        budget.take(blob)
    texts = repository.contents(list(budget.taken))
    made = (_delta(repository, change, texts, budget.sizes) for change in shown)
    files = tuple(file for file in made if not (file.path in known and known[file.path] == file.after))
    return Deltas(files, len(contents) - len(shown))


def _delta(repository: Repository, change: Change, texts: Mapping[str, bytes], sizes: Mapping[str, int]) -> FileDelta:
    path = well_formed(str(repository.workspace / change.path))
    before, after = (_text(blob, texts) for blob in (change.before, change.after))
    is_left_out = not change.after and change.path in repository.left_out
    if isinstance(before, _NoText) or isinstance(after, _NoText) or change.has_link or is_left_out:
        cut = "too large" if is_left_out else _reason(change, before, after)
        lines = [_line(blob, cut, sizes) for blob in (change.before, change.after)]
        lines[1] = f"({cut})\n" if is_left_out else lines[1]
        return FileDelta(path=path, before=lines[0], after=lines[1], cut=cut)
    return FileDelta(path=path, before=before, after=after)


@dataclass(frozen=True)
class _NoText:
    """Why there is no text to show."""

    reason: str


def _text(blob: str, texts: Mapping[str, bytes]) -> str | _NoText | None:
    if not blob:
        return None
    if blob not in texts:
        return _NoText("too large")
    try:
        return decoded(_NOWHERE, texts[blob])[1]
    except EditorError:
        return _NoText("binary")


def _reason(change: Change, *texts: str | _NoText | None) -> str:
    reasons = [text.reason for text in texts if isinstance(text, _NoText)]
    return "link" if change.has_link else reasons[0]


def stands_for(line: str | None, blob: str) -> bool:
    """Whether this line of a delta stands for the content of the blob."""
    return line is not None and line.endswith(f" bytes, {blob[:12]})\n")


def _line(blob: str, cut: str, sizes: Mapping[str, int]) -> str | None:
    """What stands for a content that is not shown; another content, another line."""
    return f"({cut}, {sizes.get(blob, 0):,} bytes, {blob[:12]})\n" if blob else None
