"""Reverting a hunk or a file: the file's current text and the one to write. Reverting the revert undoes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from workbench.diff.hunks import FileDiff, taken
from workbench.protocol.events import FileDelta
from workbench.text import counted
from workbench.view.state import FileState, SessionState

if TYPE_CHECKING:
    from workbench.protocol.events import FileDelta


@dataclass(frozen=True)
class FileRevert:
    """One file to write back; a text of None means that the file does not exist, and `what` names the change for the
    user.
    """

    path: str
    now: str | None
    target: str | None
    what: str
    verb: str = "Reverted"
    note: str = ""
    """Why the contents are placeholder lines instead of the file's text; empty if they are its text."""
    version: str = ""
    """The snapshot that may contain the target text; `version_now` may contain the current one."""
    version_now: str = ""

    @property
    def undone(self) -> FileRevert:
        """The change that undoes this one."""
        verb = "Restored" if self.verb == "Reverted" else "Reverted"
        return replace(
            self, now=self.target, target=self.now, verb=verb, version=self.version_now, version_now=self.version
        )

    @property
    def delta(self) -> FileDelta:
        """The change in the form of a request to the engine."""
        return FileDelta(path=self.path, before=self.now, after=self.target, cut=self.note, version=self.version)


def of_hunk(file: FileState, diff: FileDiff, hunk: int, now: str = "") -> FileRevert:
    """Return the change that reverts one hunk (from 0); reverting a file's only hunk reverts the whole file.

    `now` is the current snapshot of the workspace, "" if unknown.
    """
    if len(diff.hunks) == 1:
        return of_file(file, f"the hunk of {diff.path}", now)
    rest = taken(diff, [other for other in range(len(diff.hunks)) if other != hunk])
    return FileRevert(file.path, file.after, rest, f"hunk {hunk + 1} of {diff.path}")


def of_file(file: FileState, name: str, now: str = "") -> FileRevert:
    """Return the change that reverts the whole file; `now` is the current snapshot of the workspace, "" if unknown."""
    return FileRevert(file.path, file.after, file.before, name, note=file.note, version=file.version, version_now=now)


def what_of(changes: Sequence[FileRevert]) -> str:
    """Return the name of some changes for the user."""
    return changes[0].what if len(changes) == 1 else counted(len(changes), "file")


def held_now(state: SessionState, revert: FileRevert) -> str | None:
    """Return the file's current text according to the log or, if the session has not changed it, the target text."""
    file = state.changes.get(revert.path)
    return file.after if file is not None else revert.target


def refusal(state: SessionState, file: FileState, *, whole: bool = False) -> str:
    """Return why this file cannot be reverted from the current view; empty if a revert may be tried."""
    if file.note and not whole:
        return "Nothing to revert line by line here; X reverts the whole file"
    if file.note and file.before is not None and not file.version:
        return "There is no version of this file here; `ohw restore --versions` lists them"
    if state.running:
        return "An action is running: wait until it has ended, or stop it"
    current = state.changes.get(file.path)
    if current is not None and current.after != file.after:
        return "The file has changed since; revert it from the session view"
    return ""
