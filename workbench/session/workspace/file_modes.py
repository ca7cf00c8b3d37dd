"""Changes of files whose content stays the same: they become executable or not, or a link takes a file's place."""

from __future__ import annotations

from typing import Final

from workbench.protocol.events import FileDelta
from workbench.protocol.placeholders import placeholder
from workbench.session.workspace.repository import LINK, Change, SnapshotRepository
from workbench.text import well_formed

_EXECUTABLE: Final = "100755"
_OPPOSITES: Final = {"becomes executable": "is not executable any more", "becomes a link": "becomes a file"}
_REVERSED: Final = {**_OPPOSITES, **{after: before for before, after in _OPPOSITES.items()}}
PERMISSION_CHANGES: Final = frozenset(_REVERSED)
"""What the deltas of such changes have in place of their contents."""


def mode_deltas(repository: SnapshotRepository, changes: list[Change]) -> tuple[FileDelta, ...]:
    """Return the changes of modes among some changes, with placeholders for the content. Raises SnapshotError."""
    same = [change for change in changes if change.before == change.after]
    sizes = repository.sizes([change.after for change in same]) if same else {}
    return tuple(_delta(repository, change, sizes.get(change.after, 0)) for change in same)


def reversed_cut(cut: str) -> str:
    """Return what the reverse of a change has in place of contents that are not there."""
    return _REVERSED.get(cut, cut)


def _delta(repository: SnapshotRepository, change: Change, size: int) -> FileDelta:
    why = _why(change)
    content = placeholder(why, size, change.after)
    path = well_formed(str(repository.workspace / change.path))
    return FileDelta(path=path, before=content, after=content, cut=why)


def _why(change: Change) -> str:
    if change.has_link:
        return "becomes a link" if change.mode_after == LINK else "becomes a file"
    return "becomes executable" if change.mode_after == _EXECUTABLE else "is not executable any more"
