"""The files of the diff viewer: their diffs, the title above the diff, and the status line and key hints below it."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from pathlib import PurePath
from typing import Final

from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from workbench.diff.hunks import FileDiff, compare
from workbench.text import counted, visible
from workbench.tui.widgets.file_list import FileRow
from workbench.tui.widgets.key_hints import KeyHints, bound_keys
from workbench.tui.widgets.viewer_input import ViewerInput
from workbench.view.formatting.actions import short_path
from workbench.view.formatting.timeline_rows import authorship_sign
from workbench.view.review.review import Review, is_stored
from workbench.view.state import FileState


def viewer_title(scope: str, diff: FileDiff | None, hunk: int, index: int, count: int) -> Content:
    """Return the title: scope, file, counts, and the hunk's and the file's number; both indexes count from 0."""
    named = Content.assemble((f"{scope} ", "bold $panel-title-focus"), ("│ ", "$dim")) if scope else Content("")
    if diff is None:
        return named if scope else Content.styled("Changes", "bold $panel-title-focus")
    path = PurePath(visible(diff.path, lines=False))
    directory = "" if str(path.parent) == "." else f"{path.parent}/"
    counts = () if diff.note else _counts(diff)
    files = f"   file {index + 1} of {count}" if count > 1 else ""
    where = ("" if diff.note else _hunks(hunk, len(diff.hunks))) + files
    sign = "M" if diff.note else diff.sign
    parts = (f"{sign} ", "bold $primary"), (directory, "$dim"), (path.name, "bold"), *counts, (where, "$dim")
    return Content.assemble(named, *parts)


def _counts(diff: FileDiff) -> tuple[tuple[str, str], tuple[str, str]]:
    return (
        (f"  +{diff.added}" if diff.added or not diff.removed else " ", "$sign-ok"),
        (f" −{diff.removed}" if diff.removed else "", "$sign-failed"),
    )


def _hunks(hunk: int, count: int) -> str:
    if hunk >= 0:
        return f"   hunk {hunk + 1} of {count}"
    return f"   {counted(count, 'hunk')}"


def comments_waiting(count: int, key: str) -> str:
    """Return the line about unsent comments and the key that sends them; empty if there are none."""
    return f"{counted(count, 'unsent comment')}   {key} Send" if count else ""


_COMPARED_AT_ONCE: Final = 300_000
"""Maximum number of characters, old and new text together, that are compared without a thread."""
_MANY: Final = 10
"""With at least this many files, the hints include the key that reverts all of them."""
_MOST_READ: Final = 16
"""Maximum number of files whose texts, read from the file versions, are kept."""
_HINTS: Final = (
    *(("diff.next", "Hunk"), ("viewer.next-file", "File"), ("viewer.scope", "Scope"), ("viewer.search", "Search")),
    *(("viewer.comment", "Comment"), ("viewer.take-back", "Revert hunk"), ("viewer.close", "Close")),
    *(("viewer.take-back-file", "Revert file"), ("diff.split", "Split"), ("diff.fold", "Expand context")),
    *(("diff.wrap", "Wrap"), ("viewer.revert-all", "Revert all")),
)
_NEED_REVIEW: Final = (
    "viewer.scope",
    "viewer.comment",
    "viewer.take-back",
    "viewer.take-back-file",
    "viewer.revert-all",
)
_NEED_NO_FILE: Final = ("viewer.scope", "viewer.close")
_LINE_HINTS: Final[Sequence[tuple[str, str]]] = (
    ("viewer.line-keep", "Keep"),
    ("viewer.line-leave", "Cancel"),
    ("viewer.search-width", "All or this file"),
)


class ChangedFiles:
    """The files of a scope, the selected file, and their diffs, each computed only once for the same content.

    Texts that are not in the log are read when a file is shown; the diffs of the last few such files are kept.
    """

    def __init__(self, workspace: str, review: Review | None = None) -> None:
        self.workspace = workspace
        self._review = review
        self.files: list[FileState] = []
        self.chosen = 0
        self._diffs: dict[str, tuple[FileState, FileDiff]] = {}
        self._read: dict[str, None] = {}
        """Paths of the files whose texts were read for their diffs, the oldest first."""

    @property
    def current(self) -> FileState | None:
        """The selected file, or None if there are no files."""
        return self.files[self.chosen] if self.chosen < len(self.files) else None

    def update(self, files: Sequence[FileState], path: str | None) -> None:
        """Replace the files, leaving out unchanged ones, and select the file at `path` or else the first."""
        self.files = [copy(file) for file in files if file.before != file.after or file.note]
        self.chosen = next((at for at, file in enumerate(self.files) if file.path == path), 0)

    def quick_diff(self, file: FileState) -> FileDiff | None:
        """Return the diff if it is cached, or quick to compute from texts that need not be read; otherwise None."""
        is_short = len(file.before or "") + len(file.after or "") < _COMPARED_AT_ONCE
        return self.diff(file) if is_short and not self.is_unread(file) else self._cached(file)

    def is_unread(self, file: FileState) -> bool:
        """Return whether the file's texts must be read before its lines can be shown."""
        return self._review is not None and is_stored(file) and self._cached(file) is None

    def diff(self, file: FileState) -> FileDiff:
        """Return the diff of a file; safe to call in a thread."""
        diff = self._cached(file)
        if diff is None:
            diff = self._compared(file)
            self._diffs[file.path] = (file, diff)
        return diff

    def _cached(self, file: FileState) -> FileDiff | None:
        of, diff = self._diffs.get(file.path, (None, None))
        is_same = of is not None and (of.before, of.after, of.note) == (file.before, file.after, file.note)
        return diff if is_same else None

    def _compared(self, file: FileState) -> FileDiff:
        path = self.name(file)
        if self._review is not None and is_stored(file):
            self._note_read(file.path)
            file = self._review.with_content(file)
        return _without_lines(path, file) if file.note else compare(path, file.before, file.after)

    def _note_read(self, path: str) -> None:
        self._read.pop(path, None)
        self._read[path] = None
        while len(self._read) > _MOST_READ:
            oldest = next(iter(self._read))
            del self._read[oldest]
            self._diffs.pop(oldest, None)

    def name(self, file: FileState) -> str:
        """Return the path of a file as shown."""
        return short_path(file.path, self.workspace)

    def row(self, index: int) -> FileRow:
        """Return the row of a file in the file list."""
        file = self.files[index]
        sign = "M" if file.note else "A" if file.before is None else "D" if file.after is None else "M"
        added, removed = (-1, -1) if file.note else (file.added, file.removed)
        return FileRow(sign, self.name(file), added, removed, authorship_sign(file))


def _without_lines(path: str, file: FileState) -> FileDiff:
    """Return a diff without lines; its note says why, and what is known about the file before and after."""
    facts = [text.strip() for text in (file.before, file.after) if text]
    note = ": ".join(filter(None, (file.note, " → ".join(facts))))
    return replace(compare(path, None, None), note=note)


class ViewerStatus:
    """The lines below the diff: a message, the number of unsent comments, and the active keys."""

    def __init__(self, screen: Screen[None], files: ChangedFiles, review: Review | None) -> None:
        self._screen = screen
        self._files = files
        self._review = review
        self.line = Static(id="viewer-status")
        self.hints = KeyHints()
        self.entry = ViewerInput()
        self.text = ""

    def show(self, text: str) -> None:
        """Show a message, the number of unsent comments, and the active keys."""
        self.text = text
        count = len(self._review.comments) if self._review else 0
        unsent = comments_waiting(count, bound_keys(self._screen).get("viewer.send-comments", "ctrl+s"))
        line = "   ".join(filter(None, (visible(text, lines=False), unsent)))
        self.line.update(Content(line))
        self.line.display = bool(line)
        self.show_keys()

    def show_keys(self) -> None:
        """Show the active keys."""
        keys = bound_keys(self._screen)
        self.hints.show([(keys[name], label) for name, label in self._hints_now() if name in keys])

    def _hints_now(self) -> list[tuple[str, str]]:
        if self.entry.display:
            is_search = self.entry.asked == "search"
            return [hint for hint in _LINE_HINTS if is_search or hint[0] != "viewer.search-width"]
        hints = [hint for hint in _HINTS if self._review or hint[0] not in _NEED_REVIEW]
        if len(self._files.files) < _MANY:
            hints = [hint for hint in hints if hint[0] != "viewer.revert-all"]
        return hints if self._files.files else [hint for hint in hints if hint[0] in _NEED_NO_FILE]
