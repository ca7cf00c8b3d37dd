"""The parts of the diff viewer: changed files with their diffs, status line, search, comments, reverting."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from workbench.client.threads import in_daemon
from workbench.diff.hunks import FileDiff, compare
from workbench.text import counted, visible
from workbench.tui.widgets.file_list import FileRow
from workbench.tui.widgets.key_hints import KeyHints, bound_keys
from workbench.tui.widgets.review_line import ReviewLine
from workbench.tui.widgets.review_view import ReviewView
from workbench.tui.widgets.viewer_lines import comments_waiting
from workbench.view.approval.quiet_time import Confirmation
from workbench.view.diff.search import MOST_MATCHES, Match, find
from workbench.view.formatting.actions import short_path
from workbench.view.formatting.timeline_rows import authorship_sign
from workbench.view.review.revert_text import FileRevert, held_now, of_file, of_hunk, refusal
from workbench.view.review.review import Comment, Review, is_stored
from workbench.view.state import Changed, FileState

_COMPARED_AT_ONCE: Final = 300_000
"""Maximum number of characters, old and new text together, that are compared without a thread."""
_MANY: Final = 10
"""Minimum number of files for which the hints include the key that reverts all of them."""
_MOST_READ: Final = 16
"""Maximum number of files whose texts, read from the file versions, are kept."""
_HINTS: Final = (
    *(("diff.next", "hunk"), ("viewer.next-file", "file"), ("viewer.scope", "scope"), ("viewer.search", "search")),
    *(("viewer.comment", "comment"), ("viewer.take-back", "revert hunk"), ("viewer.close", "close")),
    *(("viewer.take-back-file", "revert file"), ("diff.split", "split"), ("diff.fold", "expand context")),
    *(("diff.wrap", "wrap"), ("viewer.revert-all", "revert all")),
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
    ("viewer.line-keep", "keep"),
    ("viewer.line-leave", "cancel"),
    ("viewer.search-width", "all or this file"),
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
        self.files = [replace(file) for file in files if file.before != file.after or file.note]
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
        self.entry = ReviewLine()
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


class ViewerSearch:
    """Searches the lines of all files or of the selected one, and steps through the matches."""

    def __init__(
        self, files: ChangedFiles, view: ReviewView, status: ViewerStatus, open_file: Callable[[int], None]
    ) -> None:
        self._files = files
        self._view = view
        self._status = status
        self._open_file = open_file
        self.matches: list[Match] = []
        self._current = -1
        self._unread = 0
        """Number of files left out of the search because their texts have not been read yet."""

    def ask(self) -> None:
        """Ask what to search for."""
        self._status.entry.ask("search")
        self._status.show("")

    async def run(self, needle: str, *, in_all_files: bool) -> None:
        """Find the matches, at most `MOST_MATCHES`, and go to the first one at or after the cursor."""
        numbers = range(len(self._files.files)) if in_all_files else [self._files.chosen]
        files = [(number, self._files.files[number]) for number in numbers if number < len(self._files.files)]
        read = [(number, file) for number, file in files if not self._files.is_unread(file)]
        self._unread = len(files) - len(read)

        def search() -> list[Match]:
            return [match for number, file in read for match in find(needle, self._files.diff(file), number)]

        self.matches = (await in_daemon(search))[:MOST_MATCHES]
        self._current = self._first_from_cursor() - 1
        if self.matches:
            self.step(1)
        else:
            self._view.mark_matches([], None)
            self._status.show(f'No match for "{needle}"{self._unsearched()}' if needle else "")

    def step(self, by: int) -> None:
        """Go to the next or previous match or, if there are no matches, hunk."""
        if not self.matches:
            self._view.action_step(by)
            return
        self._current = (self._current + by) % len(self.matches)
        match = self.matches[self._current]
        if match.file != self._files.chosen:
            self._open_file(match.file)
        self._view.mark_matches([other for other in self.matches if other.file == match.file], match)
        more = "+" if len(self.matches) >= MOST_MATCHES else ""
        position = f"match {self._current + 1} of {len(self.matches)}{more}{self._unsearched()}"
        self._status.show(f"{position} · n/N next, previous · esc ends")

    def _unsearched(self) -> str:
        return f" ({counted(self._unread, 'file')} not searched: not opened yet)" if self._unread else ""

    def mark(self) -> None:
        """Mark the matches of the selected file."""
        self._view.mark_matches([match for match in self.matches if match.file == self._files.chosen], None)

    def end(self) -> bool:
        """Drop the matches; return whether there were any."""
        had_matches, self.matches = bool(self.matches), []
        if had_matches:
            self._view.mark_matches([], None)
            self._status.show("")
        return had_matches

    def _first_from_cursor(self) -> int:
        old, new = self._view.geometry.lines_from(self._view.marks.cursor)
        for index, match in enumerate(self.matches):
            is_after = match.file == self._files.chosen and match.line >= (old if match.side == "old" else new)
            if is_after or match.file > self._files.chosen:
                return index
        return 0


class ViewerComments:
    """Writes comments on lines and sends them to the agent together."""

    def __init__(self, review: Review | None, files: ChangedFiles, view: ReviewView, status: ViewerStatus) -> None:
        self._review = review
        self._files = files
        self._view = view
        self._status = status
        self._edited: Comment | None = None

    def ask(self) -> None:
        """Open the comment on the line under the cursor, or a new one, for editing."""
        comment = self._here()
        if comment is not None:
            self._edited = comment
            self._status.entry.ask("comment", f"comment on line {comment.line + 1}", comment.text)
            self._status.show("")

    def write(self, text: str) -> None:
        """Save the text of the edited comment; an empty text removes the comment."""
        if self._edited is not None and self._review is not None:
            self._review.comments.write(self._edited, text)
            self.refresh()

    def drop(self) -> None:
        """Delete the comment under the cursor."""
        comment = self._here()
        if comment is not None and comment.text and self._review is not None:
            self._review.comments.drop(comment)
            self.refresh()

    def send(self) -> None:
        """Send every comment to the agent, as one message."""
        count = self._review.send_comments() if self._review else 0
        if count:
            self._status.text = f"Sent {counted(count, 'comment')} to the agent"
            self.refresh()

    def refresh(self) -> None:
        """Show the comments of the selected file below their lines, and the number of unsent ones."""
        file = self._files.current
        if file is not None:
            diff = self._files.diff(file)
            placed = self._review.comments.placed(diff.path, diff) if self._review else {}
            self._view.remark({(0, side, line): comment.text for (side, line), comment in placed.items()})
        self._status.show(self._status.text)

    def _here(self) -> Comment | None:
        """Return the comment on the line under the cursor, or a new empty one; None without a line or a review."""
        line, file = self._view.line, self._files.current
        if self._review is None or file is None:
            return None
        if line is None:
            self._status.show("Move to a line first (↑/↓)")
            return None
        _, side, number = line
        diff = self._files.diff(file)
        quoted = (diff.old if side == "old" else diff.new)[number].removesuffix("\n")
        existing = self._review.comments.placed(diff.path, diff).get((side, number))
        return existing or Comment(diff.path, side, number, quoted, "")


class Reverter:
    """Asks the engine to revert a hunk, a file or every file of the list, or to undo the last revert."""

    def __init__(self, review: Review | None, files: ChangedFiles, view: ReviewView, status: ViewerStatus) -> None:
        self._review = review
        self._files = files
        self._view = view
        self._status = status
        self._requested: tuple[FileRevert, ...] = ()
        self._undo: tuple[FileRevert, ...] = ()
        self.confirmation = Confirmation(view.call_after_refresh, time.monotonic)
        """Confirms the revert of every file."""

    def revert(self, *, whole_file: bool, fixed: str) -> None:
        """Revert the hunk under the cursor or the whole file; `fixed` is why the scope cannot be reverted, or empty."""
        review, file = self._review, self._files.current
        if review is None or file is None:
            return
        hunk = self._view.current
        problem = fixed or refusal(review.state, file, whole=whole_file)
        if not problem and not whole_file and hunk < 0:
            problem = "Move to a hunk first (j/k)"
        if problem:
            self._status.show(problem)
            return
        diff, version = self._files.diff(file), review.state.version
        self._send((of_file(file, diff.path, version) if whole_file else of_hunk(file, diff, hunk, version),))

    def revert_all(self, fixed: str) -> None:
        """Revert every file of the list, once a second press confirms it, or say which file prevents it."""
        review, files = self._review, self._files.files
        if review is None or not files:
            return
        refusals = ((file, refusal(review.state, file, whole=True)) for file in files)
        problem = fixed or next((f"{self._files.name(file)}: {reason}" for file, reason in refusals if reason), "")
        if problem:
            self._status.show(problem)
            return
        question = f"Revert {counted(len(files), 'file')}? Press the same key again to confirm"
        about = tuple((file.path, file.before, file.after) for file in files)
        if self._status.text != question or not self.confirmation.is_answered(about):
            self.confirmation.ask(about)
            self._status.show(question)
            return
        self.confirmation.forget()
        version = review.state.version
        self._send(tuple(of_file(file, self._files.name(file), version) for file in files))

    def undo(self) -> None:
        """Undo the last revert."""
        if self._undo:
            self._send(self._undo)

    def follow(self, changed: Changed, refused: str) -> None:
        """Show whether the request was carried out; `refused` is the engine's reason if it was not."""
        requests, review = self._requested, self._review
        if not requests or review is None:
            return
        if changed.changes and all(held_now(review.state, request) == request.target for request in requests):
            self._requested, self._undo = (), tuple(request.undone for request in requests)
            self._status.show(f"{requests[0].verb} {_what(requests)} · u to undo")
        elif refused:
            self._requested = ()
            self._status.show(f"Not done: {refused}")

    def _send(self, requests: tuple[FileRevert, ...]) -> None:
        if self._review is not None:
            self._requested = requests
            self._status.show(f"{_what(requests)} …")
            self._review.revert(requests)


def _what(requests: Sequence[FileRevert]) -> str:
    return requests[0].what if len(requests) == 1 else counted(len(requests), "file")
