"""The files of the diff viewer: their diffs, and the status line and key hints below them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from workbench.diff.hunks import FileDiff, compare
from workbench.text import counted, visible
from workbench.tui.widgets.diff_files import DiffFiles
from workbench.tui.widgets.file_list import FileRow
from workbench.tui.widgets.key_hints import KeyHints, bound_keys
from workbench.tui.widgets.viewer_input import ViewerInput
from workbench.view.approval.plan import plan_ready
from workbench.view.formatting.actions import short_path
from workbench.view.formatting.timeline_rows import authorship_sign
from workbench.view.review.review import Review, is_stored
from workbench.view.review.reviewed import ReviewedFiles, next_unreviewed
from workbench.view.state import FileState

if TYPE_CHECKING:
    from workbench.view.review.staging import IndexSide


def waiting_lines(comments: int, send_key: str, actions: int, *, has_plan: bool = False) -> list[str]:
    """Return the reminders: actions or a plan to decide on, whose key is among the hints, and unsent comments."""
    verb = "needs" if actions == 1 else "need"
    what = f"{counted(actions, 'action')} {verb} approval" if actions else "The plan needs approval" if has_plan else ""
    lines = [what] if what else []
    return [*lines, f"{counted(comments, 'unsent comment')}   {send_key} Send"] if comments else lines


_COMPARED_AT_ONCE: Final = 300_000
"""Maximum number of characters, old and new text together, that are compared without a thread."""
_MORE_AT_ONCE: Final = 100_000
"""Maximum number of characters of all files but the first that are compared before anything is shown."""
_MOST_COMPARED: Final = 10_000_000
"""Maximum number of characters that are compared without being asked for; other files are compared at the cursor."""
_SLICE: Final = 0.2
"""Seconds of comparing after which the files compared so far are shown."""
_COMPARING: Final = "comparing …"
_UNREAD: Final = "its lines are read when you go here"
_MOST_READ: Final = 16
"""Maximum number of files whose texts, read from snapshots, are kept."""
_MOVE_HINTS: Final = (("diff.next", "Hunk"), ("viewer.next-file", "File"))
_DECIDE_HINTS: Final = (
    ("viewer.answer", "Answer"),
    ("viewer.reviewed", "Reviewed"),
    ("viewer.comment", "Comment"),
    ("viewer.take-back", "Revert"),
)
_STAGE_HINTS: Final = (
    ("viewer.answer", "Answer"),
    ("viewer.stage", "Stage"),
    ("viewer.stage-file", "Whole"),
    ("viewer.commit", "Commit"),
    ("viewer.reviewed", "Reviewed"),
)
_VIEW_HINTS: Final = (("viewer.scope", "Scope"), ("viewer.search", "Search"), ("viewer.close", "Close"))
_HINTS: Final = (*_MOVE_HINTS, *_DECIDE_HINTS, *_VIEW_HINTS)
_INDEX_HINTS: Final = (*_MOVE_HINTS, *_STAGE_HINTS, ("viewer.scope", "Scope"), ("viewer.close", "Close"))
_APPLY_HINTS: Final = (
    *_MOVE_HINTS,
    ("viewer.answer", "Answer"),
    ("viewer.reviewed", "Reviewed"),
    ("viewer.take-back", "Apply"),
    ("viewer.revert-all", "Apply all"),
    *_VIEW_HINTS,
)
"""The hints for changes of another session."""
_NEED_REVIEW: Final = ("viewer.answer", "viewer.scope", "viewer.comment", "viewer.take-back")
_NEED_NOW: Final = ("viewer.reviewed", "viewer.comment", "viewer.take-back", "viewer.revert-all")
_NEED_NO_FILE: Final = ("viewer.answer", "viewer.commit", "viewer.scope", "viewer.close")
_LINE_HINTS: Final[Sequence[tuple[str, str]]] = (
    ("viewer.line-keep", "Keep"),
    ("viewer.line-leave", "Cancel"),
    ("viewer.search-width", "All or this file"),
)


class ChangedFiles:
    """The files of a scope and their diffs, each computed only once for the same content.

    Texts that are not in the log are read when the cursor comes to a file; the diffs of the last few such files are
    kept. A file that is not compared yet is shown as a title with the reason.
    """

    def __init__(self, workspace: str, review: Review | None, page: DiffFiles) -> None:
        self.workspace = workspace
        self._review = review
        self._page = page
        self.files: list[FileState] = []
        self.diffs: list[FileDiff] = []
        """The diff shown for each file."""
        self.reviewed = ReviewedFiles() if review is None else review.reviewed
        self._diffs: dict[str, tuple[FileState, FileDiff]] = {}
        self._titles: dict[tuple[str, str], FileDiff] = {}
        """Diffs without lines by path and reason."""
        self._read: dict[str, None] = {}
        """Paths of the files whose texts were read for their diffs, the oldest first."""

    @property
    def chosen(self) -> int:
        """The number of the file under the cursor, from 0."""
        return self._page.current

    @property
    def hunk(self) -> int:
        """The hunk under the cursor, counted from 0 in its file; -1 if there is none."""
        return self._page.hunk

    @property
    def current(self) -> FileState | None:
        """The file under the cursor, or None if there are no files."""
        return self.files[self.chosen] if 0 <= self.chosen < len(self.files) else None

    def update(self, files: Sequence[FileState]) -> None:
        """Replace the files, leaving out unchanged ones."""
        self.files = [copy(file) for file in files if file.before != file.after or file.note]

    def number_of(self, path: str | None) -> int:
        """Return the number, from 0, of the file at `path` or, if it is not there, of the first file that is not
        reviewed.
        """
        number = next((number for number, file in enumerate(self.files) if file.path == path), -1)
        if number < 0:
            number = next_unreviewed(len(self.files), self.reviewed.numbers(self.files), -1)
        return max(0, number)

    def show(self, first: int) -> Sequence[FileDiff]:
        """Return what to show of each file now; file `first`, and others if that is quick, are compared for this."""
        order = [first, *(number for number in range(len(self.files)) if number != first)]
        diffs: dict[int, FileDiff] = {}
        available = _COMPARED_AT_ONCE
        for number in order:
            file = self.files[number]
            diff = self._cached(file)
            if diff is None and not self.is_unread(file) and _size(file) < available:
                diff = self.diff(file)
                available = min(available, _MORE_AT_ONCE) - _size(file) * (number != first)
            diffs[number] = diff or self._title(file, _UNREAD if self.is_unread(file) else _COMPARING)
        self.diffs = [diffs[number] for number in range(len(self.files))]
        return self.diffs

    def _title(self, file: FileState, reason: str) -> FileDiff:
        name = self.name(file)
        if (name, reason) not in self._titles:
            self._titles[name, reason] = replace(compare(name, None, None), note=reason)
        return self._titles[name, reason]

    @property
    def is_current_compared(self) -> bool:
        """Whether the file under the cursor, if any, is compared."""
        return self.current is None or self._cached(self.current) is not None

    @property
    def not_compared(self) -> list[FileState]:
        """The files to compare next: the one under the cursor, then the others up to a limit of their total size."""
        current = self.current
        pending = [current] if current is not None and self._cached(current) is None else []
        total = 0
        for file in self.files:
            total += _size(file)
            if total > _MOST_COMPARED:
                break
            if file is not current and not self.is_unread(file) and self._cached(file) is None:
                pending.append(file)
        return pending

    def compare_some(self, files: Sequence[FileState]) -> None:
        """Compare files, at least one, until a short time is over; safe to call in a thread."""
        end = time.monotonic() + _SLICE
        for file in files:
            self.diff(file)
            if time.monotonic() > end:
                break

    def is_unread(self, file: FileState) -> bool:
        """Return whether the file's texts must be read before its lines can be shown."""
        return self._review is not None and is_stored(file) and self._cached(file) is None

    def new_lines(self, file: FileState) -> list[str]:
        """Return the lines of a file after its change; none if they have not been read."""
        return [] if self.is_unread(file) else self.diff(file).new

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
        return FileRow(sign, self.name(file), added, removed, authorship_sign(file), file in self.reviewed)


def _size(file: FileState) -> int:
    return len(file.before or "") + len(file.after or "")


def _without_lines(path: str, file: FileState) -> FileDiff:
    """Return a diff without lines; its note says why, and what is known about the file before and after."""
    facts = [text.strip() for text in (file.before, file.after) if text]
    note = ": ".join(filter(None, (file.note, " → ".join(facts))))
    return replace(compare(path, None, None), note=note)


class ViewerStatus:
    """The lines below the diff: a message, the number of unsent comments, and the active keys."""

    def __init__(
        self, screen: Screen[None], files: ChangedFiles, review: Review | None, *, applies: bool = False
    ) -> None:
        """`applies` means that changes are not reverted but applied to the workspace."""
        self._labels = {"viewer.take-back": "Apply"} if applies else {}
        self._screen = screen
        self._files = files
        self._review = review
        self.line = Static(id="viewer-status")
        self.hints = KeyHints()
        self.entry = ViewerInput()
        self.text = ""
        self.index: IndexSide | None = None
        """The side of git's index that is shown, if it is one."""
        self.is_searching: Callable[[], bool] = lambda: False
        """Returns whether there are matches of a search, which Escape ends before it closes the viewer."""

    @property
    def fixed(self) -> str:
        """Why nothing can be changed, commented on or marked here; empty if it can."""
        return self._review.fixed if self._review is not None else ""

    @property
    def has_control(self) -> bool:
        """Whether this screen controls the session; another one may, and then nothing is changed from here."""
        return self._review is None or self._review.live.has_control

    def refuses(self) -> bool:
        """Return whether nothing can be changed here, and say why."""
        if self.fixed:
            self.show(self.fixed)
        return bool(self.fixed)

    def show(self, text: str) -> None:
        """Show a message, the number of unsent comments, and the active keys."""
        self.text = text
        keys = bound_keys(self._screen)
        comments = len(self._review.comments) if self._review else 0
        send = keys.get("viewer.send-comments", "Ctrl+S")
        waiting = waiting_lines(comments, send, self._waiting, has_plan=self._has_plan)
        line = "   ".join(filter(None, (visible(text, lines=False), *waiting)))
        self.line.update(Content(line))
        self.line.display = bool(line)
        self.show_keys()

    @property
    def _waiting(self) -> int:
        return len(self._review.live.waiting) if self._review else 0

    @property
    def _has_plan(self) -> bool:
        return self._review is not None and plan_ready(self._review.live) > 0

    def show_keys(self) -> None:
        """Show the active keys."""
        keys = bound_keys(self._screen)
        labels = self._labels | ({"viewer.close": "End"} if self.is_searching() else {})
        labels |= {"viewer.stage": "Unstage"} if self.index and self.index.is_staged else {}
        self.hints.show([(keys[name], labels.get(name, label)) for name, label in self._hints_now() if name in keys])

    def _hints_now(self) -> list[tuple[str, str]]:
        if self.entry.display:
            is_search = self.entry.asked == "search"
            return [hint for hint in _LINE_HINTS if is_search or hint[0] != "viewer.search-width"]
        hidden = {name for name in _NEED_REVIEW if self._review is None} | {name for name in _NEED_NOW if self.fixed}
        # With the key that answers, the others would not fit into 80 columns.
        is_empty = not self._files.files
        is_asked = bool(self._waiting or self._has_plan)
        hidden |= {"viewer.next-file", "viewer.scope"} if is_asked and not is_empty else set()
        hidden |= set() if is_asked else {"viewer.answer"}
        hints = _APPLY_HINTS if self._labels else _HINTS if self.index is None else _INDEX_HINTS
        return [hint for hint in hints if hint[0] not in hidden and not (is_empty and hint[0] not in _NEED_NO_FILE)]
