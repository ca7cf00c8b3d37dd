"""Taking a hunk or a file back: the text a file has now and the one it gets. Pure; undone by its reverse."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.diff.hunks import FileDiff, taken
from workbench.tui.fold.state import FileState, SessionState


@dataclass(frozen=True)
class TakeBack:
    """One file to be written again; `None` is a file that does not exist, `what` names it for the person."""

    path: str
    now: str | None
    wanted: str | None
    what: str
    verb: str = "took back"

    @property
    def undone(self) -> TakeBack:
        """The way back."""
        verb = "brought back" if self.verb == "took back" else "took back"
        return TakeBack(self.path, self.wanted, self.now, self.what, verb)


def of_hunk(file: FileState, diff: FileDiff, hunk: int) -> TakeBack:
    """Without one hunk (from 0), all others stay; the last one of a new or deleted file takes the file back."""
    if len(diff.hunks) == 1:
        return TakeBack(file.path, file.after, file.before, f"the hunk of {diff.path}")
    rest = taken(diff, [other for other in range(len(diff.hunks)) if other != hunk])
    return TakeBack(file.path, file.after, rest, f"hunk {hunk + 1} of {diff.path}")


def of_file(file: FileState, name: str) -> TakeBack:
    """All of it."""
    return TakeBack(file.path, file.after, file.before, name)


def held_now(state: SessionState, take: TakeBack) -> str | None:
    """What the file holds as far as the log says."""
    known = state.changes.get(take.path)
    return known.after if known is not None else take.wanted


def refusal(state: SessionState, file: FileState) -> str:
    """Why this file cannot be taken back from what is shown; empty when it can be tried."""
    if file.note:
        return "this file has no lines that could be taken back"
    if state.running:
        return "an action is running: wait until it has ended, or stop it"
    known = state.changes.get(file.path)
    if known is not None and known.after != file.after:
        return "the file has changed since: take it back from the whole session"
    return ""
