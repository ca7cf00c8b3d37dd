"""Applies a hunk, a file or all files of another session from the diff viewer, once the user has accepted the risk."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from textual.worker import WorkType

from workbench.client.threads import in_daemon
from workbench.errors import WorkbenchError
from workbench.protocol.live import ChangesRated
from workbench.tui.screens.apply_changes import ApplyChangesScreen
from workbench.tui.screens.diff_viewer_files import ChangedFiles, ViewerStatus
from workbench.tui.widgets.annotated_diff import AnnotatedDiff
from workbench.view.review.apply_text import applied_file, applied_files, applied_hunk, files_now
from workbench.view.review.revert_text import FileRevert
from workbench.view.review.review import Review, Scope
from workbench.view.workspace_requests import read_files_there


class Applier:
    """Works out the changes, has the engine rate them, asks the user, and sends them; one request at a time."""

    def __init__(
        self,
        review: Review,
        files: ChangedFiles,
        view: AnnotatedDiff,
        status: ViewerStatus,
        sent: Callable[[tuple[FileRevert, ...]], None],
    ) -> None:
        """`sent` is called with the changes when the user has accepted them."""
        self._review = review
        self._read = partial(read_files_there, review.url) if review.url is not None else files_now
        self._files = files
        self._view = view
        self._status = status
        self._sent = sent
        self._pending: tuple[tuple[FileRevert, ...], Scope] | None = None
        """The changes whose risk was requested, and the scope that they come from."""

    def start(self, scope: Scope, *, whole_file: bool) -> None:
        """Apply the hunk under the cursor, or the whole file, as the scope has it; says why if that is impossible."""
        if self._is_busy():
            return
        if not whole_file and self._files.hunk < 0:
            self._status.show("Move to a hunk first (j/k)")
        else:
            work: WorkType[None] = partial(self._prepare, scope, whole_file)
            self._view.run_worker(work, group="apply", exclusive=True)

    def start_all(self, scope: Scope) -> None:
        """Apply all files as the scope has them; says why if that is impossible."""
        if not self._is_busy():
            files = tuple(self._files.files)
            all_files = partial(applied_files, files, self._files.name, self._read)
            work: WorkType[None] = partial(self._request, scope, all_files)
            self._view.run_worker(work, group="apply", exclusive=True)

    def _is_busy(self) -> bool:
        """Return whether a request is open, and say so."""
        if self._pending is not None:
            self._status.show("The last change is still being rated")
        return self._pending is not None

    async def _prepare(self, scope: Scope, whole_file: bool) -> None:
        file, hunk = self._files.current, self._files.hunk
        if file is None:
            return
        diff = self._files.diff(file)
        if file.note and not whole_file:
            self._status.show("Nothing to apply line by line here; X applies the whole file")
            return
        one = partial(applied_file, file, diff.path) if whole_file else partial(applied_hunk, file, diff, hunk)
        await self._request(scope, lambda: [one(read=self._read)])

    async def _request(self, scope: Scope, work: Callable[[], list[FileRevert]]) -> None:
        """Work out the changes in a thread, and have the engine rate them."""
        try:
            changes = tuple(await in_daemon(work))
        except WorkbenchError as error:
            self._status.show(str(error))
            return
        self._pending = changes, scope
        self._review.apply(changes, scope.session)

    def follow(self, rated: ChangesRated | None, refused: str) -> None:
        """Ask the user once the engine has rated the change, or say why it is refused."""
        if self._pending is None:
            return
        if refused:
            self._pending = None
            self._status.show(f"Not done: {refused}")
        elif rated is not None:
            (changes, scope), self._pending = self._pending, None
            screen = ApplyChangesScreen(changes, scope.source or scope.session, rated)
            self._view.app.push_screen(screen, partial(self._answered, changes, scope.session, rated))

    def _answered(
        self, changes: tuple[FileRevert, ...], session: str, rated: ChangesRated, is_accepted: bool | None
    ) -> None:
        if is_accepted:
            self._sent(changes)
            self._review.apply(changes, session, rated.risk)
        else:
            self._status.show("Not applied")
