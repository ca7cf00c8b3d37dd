"""Applying a hunk or a file of another session: the file as it is in the workspace, and the text to write."""

from __future__ import annotations

from pathlib import Path

from workbench.diff.hunks import FileDiff, taken
from workbench.diff.merge import merge
from workbench.errors import WorkbenchError
from workbench.files.text_file import EditorError, decoded, read_bytes
from workbench.protocol.live import ChangesRated
from workbench.text import visible
from workbench.view.formatting.actions import plus_minus
from workbench.view.formatting.approval import RISK_ICONS
from workbench.view.review.revert_text import FileRevert
from workbench.view.state import FileState
from workbench.view.wrapping import Line, Piece, count_lines

_OTHER_LINES = "The workspace has other lines there; X applies the whole file"
_MOST_REASONS = 6
_OUTCOME = "It becomes a change of yours: the agent is notified, and you can undo it."
_THERE = "The workspace has that already"


class CannotApply(WorkbenchError):
    """A hunk or a file cannot be applied; the message is one line for the user."""


def applied_file(file: FileState, name: str) -> FileRevert:
    """Return the change that applies another session's change of a file to the file in the workspace.

    Other changes in the workspace are kept if both merge without a conflict; otherwise the other session's file
    replaces it. Raises CannotApply.
    """
    if file.note:  # its content is compared where it is written
        return FileRevert(file.path, file.before, file.after, name, "Applied", file.note, file.version)
    now = text_now(file.path)
    if now == file.after:
        raise CannotApply(_THERE)
    if now is None or now == file.before:
        return FileRevert(file.path, now, file.after, name, "Applied", version=file.version)
    if file.before is not None and file.after is not None:
        merged = merge(file.before, now, file.after)
        if merged.conflicts == 0 and merged.text != now:
            return FileRevert(file.path, now, merged.text, name, "Applied")
    what = f"{name}, which replaces lines of the workspace"
    return FileRevert(file.path, now, file.after, what, "Applied", version=file.version)


def applied_hunk(file: FileState, diff: FileDiff, hunk: int) -> FileRevert:
    """Return the change that merges one hunk (from 0) into the workspace's file. Raises CannotApply."""
    if file.before is None or file.after is None:
        return applied_file(file, diff.path)
    now = text_now(file.path)
    merged = merge(file.before, now, taken(diff, [hunk])) if now is not None else None
    if merged is None or merged.conflicts != 0:
        raise CannotApply(_OTHER_LINES)
    if merged.text == now:
        raise CannotApply(_THERE)
    return FileRevert(file.path, now, merged.text, f"hunk {hunk + 1} of {diff.path}", "Applied")


def apply_lines(change: FileRevert, rated: ChangesRated) -> list[Line]:
    """Return the lines of the question whether to apply a change: its risk, its size, and the reasons."""
    size = change.note or plus_minus(*count_lines(change.now, change.target))
    risk = Piece(f"{RISK_ICONS[rated.risk]} {rated.risk}", f"risk-{rated.risk.lower()}")
    what = "deletes the file" if change.target is None else "creates the file" if change.now is None else size
    reasons = [[Piece(visible(reason, lines=False))] for reason in rated.reasons[:_MOST_REASONS]]
    return [[risk, Piece(f"  {what}")], *reasons, [Piece(_OUTCOME, "dim")]]


def text_now(name: str) -> str | None:
    """Return the text of a file in the workspace, None if there is none. Raises CannotApply."""
    path = Path(name)
    try:
        return decoded(path, read_bytes(path))[1]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, EditorError) as error:
        raise CannotApply(f"The file in the workspace could not be read: {error}") from error
