"""Comments in the diff viewer: written on a line, kept until they are sent together."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType

from workbench.text import counted
from workbench.tui.screens.viewer_search import ViewerSearch
from workbench.tui.widgets.review_line import ReviewLine
from workbench.tui.widgets.review_view import ReviewView
from workbench.view.review.review import Comment


class ViewerComments(ViewerSearch):
    """The part of the diff viewer that takes comments, and hears what was written in its line."""

    _commented: Comment | None = None
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c", "comment", "Comment on the line", id="viewer.comment"),
        Binding("d", "drop", "Drop the comment", id="viewer.drop-comment"),
        Binding("ctrl+s", "send", "Send the comments", id="viewer.send-comments"),
    ]

    @on(ReviewLine.Written)
    def on_line_written(self, written: ReviewLine.Written) -> None:
        """Search for it, or keep it as a comment."""
        self.query_one(ReviewView).focus()
        if written.asked == "search":
            self.run_worker(self.search(written.text, written.whole), exclusive=True, group="search")
        elif self._commented is not None and self.review is not None:
            self.review.comments.write(self._commented, written.text)
            self._comments_changed()

    @on(ReviewLine.Left)
    def on_line_left(self) -> None:
        """The diff has the keys again."""
        self.query_one(ReviewView).focus()
        self.say("")

    def action_comment(self) -> None:
        """Say something to the line under the cursor, or say it differently."""
        comment = self._comment_here()
        if comment is None:
            return
        self._commented = comment
        self.query_one(ReviewLine).ask("comment", f"comment on line {comment.line + 1}", comment.text)
        self.say("")

    def _comment_here(self) -> Comment | None:
        """The comment of the line under the cursor, or a new one that is empty."""
        line = self.query_one(ReviewView).line
        if self.review is None or not self.files:
            return None
        if line is None:
            self.say("a comment needs a line: up and down go to one")
            return None
        _, side, number = line
        diff = self.compared(self.files[self.chosen])
        known = self.review.comments.placed(diff.path, diff).get((side, number))
        quoted = (diff.old if side == "old" else diff.new)[number].removesuffix("\n")
        return known or Comment(diff.path, side, number, quoted, "")

    def action_drop(self) -> None:
        """Take the comment under the cursor away."""
        comment = self._comment_here()
        if comment is not None and comment.text and self.review is not None:
            self.review.comments.drop(comment)
            self._comments_changed()

    def action_send(self) -> None:
        """All comments to the agent, as one message."""
        count = self.review.send_comments() if self.review else 0
        if count:
            self.said = f"sent {counted(count, 'comment')} to the agent"
            self._comments_changed()

    def _comments_changed(self) -> None:
        file = self.files[self.chosen] if self.chosen < len(self.files) else None
        if file is not None:
            self.file_shown(file, self.compared(file))
        self.say(self.said)
