"""The comments on lines in the diff viewer, which are sent to the agent together."""

from __future__ import annotations

from workbench.text import counted
from workbench.tui.key_names import spelled
from workbench.tui.screens.diff_viewer_files import ChangedFiles, ViewerStatus
from workbench.tui.widgets.annotated_diff import AnnotatedDiff
from workbench.view.diff.rows import LineId
from workbench.view.review.review import Comment, Comments, Review


class ViewerComments:
    """Writes comments on lines and sends them to the agent together."""

    def __init__(self, review: Review | None, files: ChangedFiles, view: AnnotatedDiff, status: ViewerStatus) -> None:
        self._review = review
        self._files = files
        self._view = view
        self._status = status
        self._edited: Comment | None = None

    def ask(self) -> None:
        """Open the comment on the line under the cursor, or a new one, for editing."""
        comment = None if self._status.refuses() else self._here()
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
        comment = None if self._status.refuses() else self._here()
        if comment is not None and comment.text and self._review is not None:
            self._review.comments.drop(comment)
            self.refresh()

    def send(self) -> None:
        """Send every comment to the agent, as one message."""
        count = self._review.send_comments() if self._review and not self._status.refuses() else 0
        if count:
            self._status.text = f"Sent {counted(count, 'comment')} to the agent"
            self.refresh()

    def refresh(self) -> None:
        """Show the comments below their lines, and the number of unsent ones."""
        comments = self._review.comments if self._review else Comments()
        by_line: dict[LineId, str] = {}
        for number, diff in enumerate(self._files.diffs if len(comments) else ()):
            for (side, line), comment in comments.placed(diff.path, diff).items():
                by_line[number, side, line] = comment.text
        self._view.remark(by_line)
        self._status.show(self._status.text)

    def _here(self) -> Comment | None:
        """Return the comment on the line under the cursor, or a new empty one; None without a line or a review."""
        line = self._view.line
        if self._review is None or not self._files.diffs:
            return None
        if line is None:
            self._status.show(spelled(self._view.app, "Move to a line first (↑/↓)"))
            return None
        file, side, number = line
        diff = self._files.diffs[file]
        quoted = (diff.old if side == "old" else diff.new)[number].removesuffix("\n")
        existing = self._review.comments.placed(diff.path, diff).get((side, number))
        return existing or Comment(diff.path, side, number, quoted, "")
