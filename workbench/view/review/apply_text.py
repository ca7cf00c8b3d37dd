"""Applying a hunk or a file of another session: the file as it is in the workspace, and the text to write."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from msgspec import Struct

from workbench.diff.hunks import FileDiff, taken
from workbench.diff.merge import merge
from workbench.errors import WorkbenchError
from workbench.files.replaced_paths import is_vacated
from workbench.files.text_file import EditorError, decoded, read_bytes
from workbench.protocol.live import ChangesRated
from workbench.session.workspace.file_modes import PERMISSION_CHANGES
from workbench.text import counted, visible
from workbench.view.formatting.actions import plus_minus
from workbench.view.formatting.approval import RISK_ICONS
from workbench.view.review.revert_text import FileRevert
from workbench.view.state import FileState
from workbench.view.wrapping import Line, Piece, count_lines

_OTHER_LINES = "The workspace has other lines there; X applies the whole file"
_MOST_REASONS = 6
_MOST_LISTED = 8
_OUTCOME = "It becomes a change of yours: the agent is notified, and you can undo it."
_OUTCOMES = "They become changes of yours: the agent is notified, and you can undo them."
_ALL_AT_ONCE = "R applies all files, which replaces it"
_THERE = "The workspace has that already"


class CannotApply(WorkbenchError):
    """A hunk or a file cannot be applied; the message is one line for the user."""


class FileNow(Struct, frozen=True):
    """The text of a file in the workspace, None if there is none."""

    text: str | None = None
    problem: str = ""
    """Why the file could not be read; empty if it could."""

    @property
    def readable(self) -> str | None:
        """The text. Raises CannotApply if the file could not be read."""
        if self.problem:
            raise CannotApply(self.problem)
        return self.text


WorkspaceReader = Callable[[Sequence[str], Collection[str] | None], Sequence[FileNow]]
"""Reads the files with these paths; if they are applied together, as they will be once the given ones are removed.

It blocks, and raises WorkbenchError if none can be read.
"""


def files_now(paths: Sequence[str], removed: Collection[str] | None = None) -> list[FileNow]:
    """Return the texts of files on this machine; those that are applied together have paths to be `removed` first."""
    return [_file_now(path, removed) for path in paths]


def applied_file(file: FileState, name: str, read: WorkspaceReader = files_now) -> FileRevert:
    """Return the change that applies another session's change of a file to the file in the workspace.

    Other changes in the workspace are kept if both merge without a conflict; otherwise the other session's file
    replaces it. Raises CannotApply, or what `read` raises.
    """
    if file.note:  # its content is compared where it is written
        if file.note in PERMISSION_CHANGES and not file.version:
            raise CannotApply(f"{name} {file.note}; the session ran in another directory: use chmod here")
        note, before = file.note, file.version_before
        return FileRevert(file.path, file.before, file.after, name, "Applied", note, file.version, before)
    (current,) = read([file.path], None)
    now = current.readable
    try:
        text = _merged_text(file, now)
    except CannotApply:
        name, text = f"{name}, which replaces lines of the workspace", file.after
    if text == now:
        raise CannotApply(_THERE)
    return FileRevert(file.path, now, text, name, "Applied", version=file.version)


def _merged_text(file: FileState, now: str | None) -> str | None:
    """Return a file with the change, given its text in the workspace; None means that it does not exist.

    Raises CannotApply if it has other changes in the same lines.
    """
    if now is None or now in (file.before, file.after):
        return file.after
    merged = merge(file.before, now, file.after) if file.before is not None and file.after is not None else None
    if merged is None or merged.conflicts != 0:
        raise CannotApply(_OTHER_LINES)
    return merged.text


def applied_files(
    files: Sequence[FileState], name_of: Callable[[FileState], str], read: WorkspaceReader = files_now
) -> list[FileRevert]:
    """Return the changes that apply those of several files, without files that the workspace has already.

    Raises CannotApply if there is none, or if a file has other changes there that would be replaced, or what `read`
    raises.
    """
    removed = sorted(file.path for file in files if file.after is None)
    states = read([file.path for file in files], removed)
    changes = [_applied_whole(file, name_of(file), now) for file, now in zip(files, states, strict=True)]
    if not any(changes):
        raise CannotApply(_THERE)
    return [change for change in changes if change is not None]


def _applied_whole(file: FileState, name: str, current: FileNow) -> FileRevert | None:
    """Return the change of one file, or None if the workspace has it already. Raises CannotApply."""
    if file.note:
        return applied_file(file, name)
    now = current.readable
    if now is None and file.before is not None and file.after is not None:
        raise CannotApply(f"{name} was deleted in the workspace; apply the other files one by one")
    try:
        text = _merged_text(file, now)
    except CannotApply:
        raise CannotApply(f"{name} has other lines in the workspace; apply its hunks one by one") from None
    return FileRevert(file.path, now, text, name, "Applied", version=file.version) if text != now else None


def applied_hunk(file: FileState, diff: FileDiff, hunk: int, read: WorkspaceReader = files_now) -> FileRevert:
    """Return the change that merges one hunk (from 0) into the workspace's file.

    Raises CannotApply, or what `read` raises.
    """
    if file.before is None or file.after is None:
        return applied_file(file, diff.path, read)
    (current,) = read([file.path], None)
    now = current.readable
    merged = merge(file.before, now, taken(diff, [hunk])) if now is not None else None
    if merged is None or merged.conflicts != 0:
        raise CannotApply(_OTHER_LINES)
    if merged.text == now:
        raise CannotApply(_THERE)
    return FileRevert(file.path, now, merged.text, f"hunk {hunk + 1} of {diff.path}", "Applied")


def apply_lines(changes: Sequence[FileRevert], rated: ChangesRated) -> list[Line]:
    """Return the lines of the question whether to apply changes: their risk, their sizes, and the reasons."""
    risk = Piece(f"{RISK_ICONS[rated.risk]} {rated.risk}", f"risk-{rated.risk.lower()}")
    if len(changes) == 1:
        head: list[Line] = [[risk, Piece(f"  {_effect(changes[0])}")]]
    else:
        rows = [[Piece(f"  {visible(each.what, lines=False)}  {_effect(each)}")] for each in changes[:_MOST_LISTED]]
        more = len(changes) - _MOST_LISTED
        head = [[risk], *rows, *([[Piece(f"  and {counted(more, 'more file')}", "dim")]] if more > 0 else [])]
    reasons: list[Line] = [[Piece(visible(reason, lines=False))] for reason in rated.reasons[:_MOST_REASONS]]
    return [*head, *reasons, [Piece(_OUTCOME if len(changes) == 1 else _OUTCOMES, "dim")]]


def _effect(change: FileRevert) -> str:
    """Return what a change does to its file: deletes or creates it, or the counts of lines."""
    size = change.note or plus_minus(*count_lines(change.now, change.target))
    return "deletes the file" if change.target is None else "creates the file" if change.now is None else size


def _file_now(path: str, removed: Collection[str] | None) -> FileNow:
    try:
        if removed is None:
            return FileNow(text_now(path))
        if is_vacated(Path(path), removed):
            return FileNow()
        if Path(path).is_dir():
            name = Path(path).name
            raise CannotApply(f"{name} is a directory in the workspace with other files in it; move them away first")
        return FileNow(text_now(path))
    except CannotApply as error:
        return FileNow(problem=str(error))
    except OSError as error:
        return FileNow(problem=f"{Path(path).name} could not be read: {error.strerror or error}")


def text_now(name: str) -> str | None:
    """Return the text of a file in the workspace, None if there is none. Raises CannotApply."""
    path = Path(name)
    if path.is_dir():
        raise CannotApply(f"{path.name} is a directory in the workspace; {_ALL_AT_ONCE}")
    try:
        return decoded(path, read_bytes(path))[1]
    except FileNotFoundError:
        return None
    except NotADirectoryError as error:
        raise CannotApply(f"A file is where the directory of {path.name} must be; {_ALL_AT_ONCE}") from error
    except (OSError, ValueError, EditorError) as error:
        raise CannotApply(f"The file in the workspace could not be read: {error}") from error
