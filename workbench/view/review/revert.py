"""Taking a hunk or a file back: the text a file has now and the one it gets. Pure; undone by its reverse."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from workbench.diff.hunks import FileDiff, taken
from workbench.protocol.events import FileDelta
from workbench.view.state import FileState, SessionState

if TYPE_CHECKING:
    from workbench.protocol.events import FileDelta


@dataclass(frozen=True)
class TakeBack:
    """One file to be written again; `None` is a file that does not exist, `what` names it for the person."""

    path: str
    now: str | None
    wanted: str | None
    what: str
    verb: str = "Reverted"
    note: str = ""
    """Why its contents are not texts but lines about them."""
    version: str = ""
    """The version that may hold what is wanted, and the one that may hold what is there now."""
    version_now: str = ""

    @property
    def undone(self) -> TakeBack:
        """The way back."""
        verb = "Restored" if self.verb == "Reverted" else "Reverted"
        return replace(
            self, now=self.wanted, wanted=self.now, verb=verb, version=self.version_now, version_now=self.version
        )

    @property
    def delta(self) -> FileDelta:
        """As the engine is asked for it."""
        return FileDelta(path=self.path, before=self.now, after=self.wanted, cut=self.note, version=self.version)


def of_hunk(file: FileState, diff: FileDiff, hunk: int, now: str = "") -> TakeBack:
    """Without one hunk (from 0), all others stay; the last one of a new or deleted file takes the file back."""
    if len(diff.hunks) == 1:
        return of_file(file, f"the hunk of {diff.path}", now)
    rest = taken(diff, [other for other in range(len(diff.hunks)) if other != hunk])
    return TakeBack(file.path, file.after, rest, f"hunk {hunk + 1} of {diff.path}")


def of_file(file: FileState, name: str, now: str = "") -> TakeBack:
    """All of it; `now` is the version of the files as they are."""
    return TakeBack(file.path, file.after, file.before, name, note=file.note, version=file.version, version_now=now)


def held_now(state: SessionState, take: TakeBack) -> str | None:
    """What the file holds as far as the log says."""
    known = state.changes.get(take.path)
    return known.after if known is not None else take.wanted


def refusal(state: SessionState, file: FileState, *, whole: bool = False) -> str:
    """Why this file cannot be taken back from what is shown; empty when it can be tried."""
    if file.note and not whole:
        return "Nothing to revert line by line here; X reverts the whole file"
    if file.note and file.before is not None and not file.version:
        return "No version of this file is known here; `ohw restore --versions` lists them"
    if state.running:
        return "An action is running: wait until it has ended, or stop it"
    known = state.changes.get(file.path)
    if known is not None and known.after != file.after:
        return "The file has changed since; revert it from the session view"
    return ""
