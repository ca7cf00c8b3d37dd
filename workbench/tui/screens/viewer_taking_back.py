"""Taking back in the diff viewer: a hunk or a file, by the engine, with the way back."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType

from workbench.tui.screens.viewer_comments import ViewerComments
from workbench.tui.widgets.review_view import ReviewView
from workbench.view.review.revert import TakeBack, held_now, of_file, of_hunk, refusal
from workbench.view.state import Changed


class ViewerTakingBack(ViewerComments):
    """The part of the diff viewer that has files written as they were, and follows the session."""

    _asked: TakeBack | None = None
    _undo: TakeBack | None = None
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("x", "take_back(False)", "Take the hunk back", id="viewer.take-back"),
        Binding("X", "take_back(True)", "Take the file back", id="viewer.take-back-file"),
        Binding("u", "undo", "Undo taking back", id="viewer.undo"),
        Binding("escape,q,f5", "close", "Close", id="viewer.close"),
    ]

    def on_unmount(self) -> None:
        """However it was closed: nothing is followed any more."""
        if self.review is not None and self.review.watching is self:
            self.review.watching = None

    def follow(self, changed: Changed, refused: str) -> None:
        """The session went on: other contents, or an answer to what was asked."""
        if changed.changes:
            self.matches = []
            self.reload()
        asked, review = self._asked, self.review
        if asked is None or review is None:
            return
        if changed.changes and held_now(review.state, asked) == asked.wanted:
            self._asked, self._undo = None, asked.undone
            self.say(f"{asked.verb} {asked.what} · u undoes that")
        elif refused:
            self._asked = None
            self.say(f"not done: {refused}")

    def action_take_back(self, whole: bool) -> None:
        """Have the hunk under the cursor, or the whole file, written as it was."""
        review, view = self.review, self.query_one(ReviewView)
        if review is None or not self.files:
            return
        file = self.files[self.chosen]
        why = self.fixed() or refusal(review.state, file, whole=whole)
        if not why and not whole and view.current < 0:
            why = "the cursor is on no hunk: j and k go to one"
        if why:
            self.say(f"not done: {why}")
            return
        diff, version = self.compared(file), review.state.version
        self._ask(of_file(file, diff.path, version) if whole else of_hunk(file, diff, view.current, version))

    def action_undo(self) -> None:
        """Take the last taking back, back."""
        if self._undo is not None:
            self._ask(self._undo)

    def _ask(self, take: TakeBack) -> None:
        if self.review is not None:
            self._asked = take
            self.say(f"{take.what} …")
            self.review.take_back(take)

    def action_close(self) -> None:
        """Leave the search, then go back to where the viewer was opened; comments that are not sent are kept."""
        if self.end_search():
            return
        if self.review is not None:
            count = len(self.review.comments)
            if count:
                said = f"{count} comment{'s are' if count != 1 else ' is'} kept in the diff viewer, not sent yet"
                self.app.notify(said, markup=False)
        self.dismiss(None)
