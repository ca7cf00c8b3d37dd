"""Reads the files of the diff viewer's scopes, and stages or unstages hunks and files in git's index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from textual.screen import Screen
from textual.worker import WorkType

from workbench.client.threads import in_daemon
from workbench.diff.hunks import FileDiff
from workbench.errors import WorkbenchError
from workbench.text import visible
from workbench.tui.screens.diff_viewer_files import ChangedFiles, ViewerStatus
from workbench.tui.widgets.annotated_diff import AnnotatedDiff
from workbench.view.notices import READ_ONLY
from workbench.view.review.review import Scope
from workbench.view.review.staging import IndexSide
from workbench.view.state import FileState

if TYPE_CHECKING:
    from workbench.tui.screens.diff_viewer import DiffViewerScreen


class ScopeReader:
    """Reads the files of a scope, in a thread if that takes time."""

    def __init__(
        self, screen: Screen[None], show: Callable[[Sequence[FileState]], None], show_nothing: Callable[[str], None]
    ) -> None:
        """`show` shows the files, `show_nothing` a text in place of them."""
        self._screen = screen
        self._show = show
        self._show_nothing = show_nothing
        self._scope: Scope | None = None
        self._then: Callable[[], None] | None = None

    def read(self, scope: Scope, *, has_files: bool) -> None:
        """Show the files of a scope; until they are read, files that are on screen stay there."""
        self._scope = scope
        if scope.is_slow:
            if not has_files:
                self._show_nothing("Asking git …")
            self._screen.run_worker(self._read_slowly(scope), exclusive=True, group="scope")
        else:
            self._screen.workers.cancel_group(self._screen, "scope")
            self._show(scope.files())

    def reread(self, then: Callable[[], None]) -> None:
        """Show the files of the scope as they are now, and call `then` once they are on screen."""
        if self._scope is not None:
            self._then = then
            self.read(self._scope, has_files=True)

    async def _read_slowly(self, scope: Scope) -> None:
        try:
            files = await in_daemon(scope.files)
        except WorkbenchError as error:
            self._show_nothing(visible(str(error)))
        else:
            self._show(files)
            then, self._then = self._then, None
            if then is not None:
                then()


class Stager:
    """Stages or unstages the hunk or the file under the cursor; one change at a time."""

    def __init__(
        self,
        screen: DiffViewerScreen,
        files: ChangedFiles,
        view: AnnotatedDiff,
        status: ViewerStatus,
        reader: ScopeReader,
    ) -> None:
        self._screen = screen
        self._files = files
        self._view = view
        self._status = status
        self._reader = reader
        self._moved_in: Sequence[FileState] | None = None
        """The files among which one was moved; they are no longer what git has."""

    def stage(self, scopes: Sequence[Scope], current: int, *, whole_file: bool) -> None:
        """Move the hunk under the cursor, or the whole file, over to the other side of the index.

        In a scope that is no side of the index, show what is not staged, or say why that is impossible.
        """
        index, file = scopes[current].index, self._files.current
        side = next((number for number, scope in enumerate(scopes) if scope.index), -1)
        problem = self._problem(whole_file=whole_file)
        if index is None and side >= 0:
            self._screen.action_scope(side)
        elif index is None:
            self._status.show(self._status.fixed or "Nothing can be staged here: these are no changes of git's index")
        elif problem:
            self._status.show(problem)
        elif file is not None and self._files.files is not self._moved_in:
            self._moved_in = self._files.files
            diff, hunk = self._files.diffs[self._files.chosen], -1 if whole_file else self._files.hunk
            work: WorkType[None] = partial(self._stage, index, file, diff, hunk)
            self._screen.run_worker(work, group="stage")

    def _problem(self, *, whole_file: bool) -> str:
        """Return why nothing can be staged now; empty if it can."""
        if not self._status.has_control:
            return READ_ONLY
        if whole_file or self._files.current is None:
            return ""
        if not self._files.is_current_compared:
            return "The file is still being compared; A is for all of it"
        has_hunks = bool(self._files.diffs[self._files.chosen].hunks)
        return "Move to a hunk first (j/k)" if has_hunks and self._files.hunk < 0 else ""

    async def _stage(self, index: IndexSide, file: FileState, diff: FileDiff, hunk: int) -> None:
        is_part = hunk >= 0 and len(diff.hunks) > 1
        message = f"{index.verb.capitalize()} {f'hunk {hunk + 1} of {diff.path}' if is_part else diff.path}"
        try:
            await in_daemon(partial(index.move, file, diff, hunk))
        except WorkbenchError as error:
            message = str(error)
        self._status.show(message)
        self._reader.reread(self._go_to_hunk)

    def _go_to_hunk(self) -> None:
        """Put the cursor on the next hunk, or on the one before, because its own may be gone."""
        for by in (1, -1):
            if self._files.current is not None and self._files.hunk < 0:
                self._view.action_step(by)
