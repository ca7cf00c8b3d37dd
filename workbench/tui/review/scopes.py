"""Whose changes the diff viewer shows: of an action, of this turn, of the session, or against git's HEAD."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.tui.fold.state import FileState, SessionState
from workbench.tui.review.against_head import files_against_head, is_repository

if TYPE_CHECKING:
    from workbench.protocol.events import FileDelta


@dataclass(frozen=True)
class Scope:
    """A set of changes with its name; `files` may take a while where `is_slow`, and is called in a thread then."""

    name: str
    files: Callable[[], Sequence[FileState]]
    is_slow: bool = False
    fixed: str = ""
    """Why nothing of it can be taken back."""


def scopes_of(state: SessionState, folder: Path, action_id: str = "") -> list[Scope]:
    """The scopes there are, from the smallest on; that of an action only when one is named."""
    scopes = [
        Scope("this turn", lambda: _copies(state.turn_changes)),
        Scope("whole session", lambda: _copies(state.changes)),
    ]
    item = state.actions.get(action_id)
    if item is not None:
        deltas = item.files or item.preview
        files = [_of_delta(delta, state) for delta in deltas]
        fixed = "" if item.files else "this action has not written anything"
        scopes.insert(0, Scope("this action", lambda: files, fixed=fixed))
    if is_repository(folder):
        scopes.append(Scope("against HEAD", partial(files_against_head, folder), is_slow=True))
    return scopes


def _of_delta(delta: FileDelta, state: SessionState) -> FileState:
    """A file of one action; where it was the first to change it, the version before it is known."""
    known = (changes.get(delta.path) for changes in (state.changes, state.turn_changes))
    version = next((file.version for file in known if file is not None and file.before == delta.before), "")
    return FileState(delta.path, delta.before, delta.after, note=delta.cut, version=version)


def _copies(files: dict[str, FileState]) -> list[FileState]:
    """The fold goes on changing its own."""
    return [replace(file) for file in files.values()]
