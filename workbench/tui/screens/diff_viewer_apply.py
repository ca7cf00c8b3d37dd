"""Applies a hunk or a file of another session from the diff viewer, once the user has accepted its risk."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from textual.worker import WorkType

from workbench.client.threads import in_daemon
from workbench.protocol.live import ChangesRated
from workbench.tui.screens.apply_changes import ApplyChangesScreen
from workbench.tui.screens.diff_viewer_files import ChangedFiles, ViewerStatus
from workbench.tui.widgets.annotated_diff import AnnotatedDiff
from workbench.view.review.apply_text import CannotApply, applied_file, applied_hunk
from workbench.view.review.revert_text import FileRevert
from workbench.view.review.review import Review


class Applier:
    """Works out the change, has the engine rate it, asks the user, and sends it; one change at a time."""

    def __init__(
        self,
        review: Review,
        files: ChangedFiles,
        view: AnnotatedDiff,
        status: ViewerStatus,
        sent: Callable[[FileRevert], None],
    ) -> None:
        """`sent` is called with the change when the user has accepted it."""
        self._review = review
        self._files = files
        self._view = view
        self._status = status
        self._sent = sent
        self._pending: tuple[FileRevert, str] | None = None
        """The change whose risk was requested, and the session that it comes from."""

    def start(self, session: str, *, whole_file: bool) -> None:
        """Apply the hunk under the cursor, or the whole file, as `session` has it; says why if that is impossible."""
        if self._pending is not None:
            self._status.show("The last change is still being rated")
        elif not whole_file and self._files.hunk < 0:
            self._status.show("Move to a hunk first (j/k)")
        else:
            work: WorkType[None] = partial(self._prepare, session, whole_file)
            self._view.run_worker(work, group="apply", exclusive=True)

    async def _prepare(self, session: str, whole_file: bool) -> None:
        file, hunk = self._files.current, self._files.hunk
        if file is None:
            return
        diff = self._files.diff(file)
        if file.note and not whole_file:
            self._status.show("Nothing to apply line by line here; X applies the whole file")
            return
        work = partial(applied_file, file, diff.path) if whole_file else partial(applied_hunk, file, diff, hunk)
        try:
            change = await in_daemon(work)
        except CannotApply as error:
            self._status.show(str(error))
            return
        self._pending = change, session
        self._review.apply(change, session)

    def follow(self, rated: ChangesRated | None, refused: str) -> None:
        """Ask the user once the engine has rated the change, or say why it is refused."""
        if self._pending is None:
            return
        if refused:
            self._pending = None
            self._status.show(f"Not done: {refused}")
        elif rated is not None:
            (change, session), self._pending = self._pending, None
            screen = ApplyChangesScreen(change, session, rated)
            self._view.app.push_screen(screen, partial(self._answered, change, session, rated))

    def _answered(self, change: FileRevert, session: str, rated: ChangesRated, is_accepted: bool | None) -> None:
        if is_accepted:
            self._sent(change)
            self._review.apply(change, session, rated.risk)
        else:
            self._status.show("Not applied")
