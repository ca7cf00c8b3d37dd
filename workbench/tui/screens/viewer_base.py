"""What all parts of the diff viewer share: the files shown, the line below the diff, the keys that work now."""

from __future__ import annotations

from abc import abstractmethod

from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from workbench.diff.hunks import FileDiff
from workbench.text import visible
from workbench.tui.widgets.key_hints import KeyHints, bound_keys
from workbench.tui.widgets.review_line import ReviewLine
from workbench.tui.widgets.review_view import ReviewView
from workbench.tui.widgets.viewer_lines import comments_waiting
from workbench.view.diff.search import Match
from workbench.view.review.review import Review
from workbench.view.state import FileState

_HINTS = (
    *(("diff.next", "hunk"), ("viewer.next-file", "file"), ("viewer.scope", "scope"), ("viewer.search", "search")),
    *(("viewer.comment", "comment"), ("viewer.take-back", "take back"), ("viewer.close", "close")),
    *(("viewer.take-back-file", "take the file back"), ("diff.split", "split"), ("diff.fold", "more lines")),
    ("diff.wrap", "wrap"),
)
_OF_REVIEW = ("viewer.scope", "viewer.comment", "viewer.take-back", "viewer.take-back-file")
_OF_NOTHING = ("viewer.scope", "viewer.close")
"""What can be done where nothing has changed."""
_LINE_HINTS = (
    ("viewer.line-keep", "keep"),
    ("viewer.line-leave", "leave"),
    ("viewer.search-width", "all or this file"),
)


class ViewerBase(ModalScreen[None]):
    """The part of the diff viewer the others stand on; `files` are those of the scope, `chosen` counts from 0."""

    def __init__(self, review: Review | None) -> None:
        super().__init__()
        self.review = review
        self.files: list[FileState] = []
        self.chosen = 0
        self.matches: list[Match] = []
        """What a search found."""
        self.said = ""

    @abstractmethod
    def compared(self, file: FileState) -> FileDiff:
        """The difference of a file; safe to call in a thread."""

    @abstractmethod
    def go_to(self, place: int) -> None:
        """Show a file of the list."""

    @abstractmethod
    def reload(self) -> None:
        """Show what the scope holds now."""

    @abstractmethod
    def fixed(self) -> str:
        """Why nothing of what is shown can be taken back; empty when it can."""

    def file_shown(self, file: FileState, diff: FileDiff) -> None:
        """A file is on the screen: its comments, and what was found in it."""
        placed = self.review.comments.placed(diff.path, diff) if self.review else {}
        view = self.query_one(ReviewView)
        view.remark({(0, side, line): comment.text for (side, line), comment in placed.items()})
        view.mark_found([match for match in self.matches if match.file == self.chosen], None)
        self.say(self.said)

    def say(self, text: str) -> None:
        """One line below the diff, beside the comments that wait; then the keys that work now."""
        self.said = text
        keys = bound_keys(self)
        count = len(self.review.comments) if self.review else 0
        waiting = comments_waiting(count, keys.get("viewer.send-comments", "ctrl+s"))
        line = "   ".join(filter(None, (visible(text, lines=False), waiting)))
        status = self.query_one("#viewer-status", Static)
        status.update(Content(line))
        status.display = bool(line)
        self.on_descendant_focus()

    def on_descendant_focus(self) -> None:
        """The keys that work now."""
        keys = bound_keys(self)
        hints = [(keys[name], words) for name, words in self._hints_now() if name in keys]
        self.query_one(KeyHints).show(hints)

    def _hints_now(self) -> list[tuple[str, str]]:
        line = self.query_one(ReviewLine)
        if line.display:
            return [hint for hint in _LINE_HINTS if line.asked == "search" or hint[0] != "viewer.search-width"]
        hints = [hint for hint in _HINTS if self.review or hint[0] not in _OF_REVIEW]
        return hints if self.files else [hint for hint in hints if hint[0] in _OF_NOTHING]
