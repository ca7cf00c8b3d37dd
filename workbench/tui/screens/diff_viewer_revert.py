"""The keys of the diff viewer that revert a hunk, a file or all files, and undo that."""

from __future__ import annotations

import time

from workbench.text import counted
from workbench.tui.key_names import key_of
from workbench.tui.screens.diff_viewer_apply import Applier
from workbench.tui.screens.diff_viewer_files import ChangedFiles, ViewerStatus
from workbench.tui.widgets.annotated_diff import AnnotatedDiff
from workbench.view.approval.quiet_time import Confirmation
from workbench.view.review.revert_text import FileRevert, held_now, of_file, of_hunk, refusal, what_of
from workbench.view.review.review import Review, Scope
from workbench.view.state import Changed


class Reverter:
    """Asks the engine to revert a hunk, a file or every file of the list, or to undo the last revert."""

    def __init__(self, review: Review | None, files: ChangedFiles, view: AnnotatedDiff, status: ViewerStatus) -> None:
        self._review = review
        self._files = files
        self._view = view
        self._status = status
        self._requested: tuple[FileRevert, ...] = ()
        self._undo: tuple[FileRevert, ...] = ()
        self.confirmation = Confirmation(view.call_after_refresh, time.monotonic)
        """Confirms the revert of every file."""
        self._applier = Applier(review, files, view, status, self._expect) if review is not None else None

    def revert(self, scope: Scope, *, whole_file: bool) -> None:
        """Revert the hunk under the cursor or the whole file, or apply it if the scope is that of another session."""
        review, file = self._review, self._files.current
        if review is None or file is None:
            return
        if scope.session and self._applier is not None:
            self._applier.start(scope, whole_file=whole_file)
            return
        hunk = self._files.hunk
        problem = scope.fixed or refusal(review.state, file, whole=whole_file)
        if not problem and not whole_file and hunk < 0:
            problem = "Move to a hunk first (j/k)"
        if problem:
            self._status.show(problem)
            return
        diff, version = self._files.diff(file), review.state.version
        self._send((of_file(file, diff.path, version) if whole_file else of_hunk(file, diff, hunk, version),))

    def revert_all(self, scope: Scope) -> None:
        """Revert every file of the list, once a second press confirms it, or say which file prevents it.

        If the scope is that of another session, apply every file.
        """
        review, files = self._review, self._files.files
        if review is None or not files:
            return
        if scope.session and self._applier is not None:
            self._applier.start_all(scope)
            return
        refusals = ((file, refusal(review.state, file, whole=True)) for file in files)
        problem = scope.fixed or next(
            (f"{self._files.name(file)}: {reason}" for file, reason in refusals if reason), ""
        )
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
        if self._applier is not None:
            self._applier.follow(changed.rated, refused)
        if not requests or review is None:
            return
        if changed.changes and all(held_now(review.state, request) == request.target for request in requests):
            self._requested, self._undo = (), tuple(request.undone for request in requests)
            undo = key_of(self._status.line.app, "viewer.undo", "u")
            self._status.show(f"{requests[0].verb} {what_of(requests)}   {undo} Undo")
        elif refused:
            self._requested = ()
            self._status.show(f"Not done: {refused}")

    def _expect(self, requests: tuple[FileRevert, ...]) -> None:
        """Wait for the engine to carry out requests that were sent."""
        self._requested = requests
        self._status.show(f"{what_of(requests)} …")

    def _send(self, requests: tuple[FileRevert, ...]) -> None:
        if self._review is not None:
            self._expect(requests)
            self._review.revert(requests)
