"""The files a session and its last turn changed: for each the first text before, the last one after, and by whom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from workbench.tui.fold.state import FileState, Hand, SessionState

if TYPE_CHECKING:
    from workbench.protocol.events import FileDelta


def take_files(state: SessionState, files: Sequence[FileDelta], by: Hand = "agent") -> bool:
    """Fold what somebody wrote; a file that is back where it began leaves the list."""
    for delta in files:
        for changes in (state.changes, state.turn_changes):
            _take_file(changes, delta, by, state.version)
    return bool(files)


def _take_file(changes: dict[str, FileState], delta: FileDelta, by: Hand, version: str) -> None:
    known = changes.get(delta.path)
    if known is None:
        known = changes[delta.path] = FileState(delta.path, delta.before, delta.after, version=version)
    known.after = delta.after
    known.note = delta.cut
    known.by |= {by}
    if known.before == known.after:
        del changes[delta.path]


def merged(files: Sequence[FileDelta], later: Sequence[FileDelta]) -> tuple[FileDelta, ...]:
    """The changes of one action from two sources: each file once, from its first text to its last."""
    found = {file.path: file for file in files}
    for file in later:
        known = found.get(file.path)
        found[file.path] = file if known is None else replace(file, before=known.before)
    return tuple(found.values())
