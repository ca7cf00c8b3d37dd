"""The progress of a review in the diff viewer: which files are compared, which are reviewed, and the title."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.screen import Screen
from textual.worker import WorkType

from workbench.client.threads import in_daemon
from workbench.text import counted
from workbench.tui.screens.diff_viewer_files import ChangedFiles, ViewerStatus
from workbench.tui.widgets.diff_files import DiffFiles
from workbench.tui.widgets.file_list import FileList
from workbench.tui.widgets.hunk_ruler import HunkRuler
from workbench.tui.widgets.viewer_title import TitleLine, ViewerTitle
from workbench.view.formatting.timeline_rows import authorship
from workbench.view.review.reviewed import next_unreviewed, rest_text


class FileComparer:
    """Compares in a thread the files whose lines are not on the page yet."""

    def __init__(self, screen: Screen[None], files: ChangedFiles, show: Callable[[], None]) -> None:
        """`show` shows the lines of the files that have been compared; it starts the next part."""
        self._screen = screen
        self._files = files
        self._show = show
        self._is_busy = False

    def start(self) -> None:
        """Compare the next files, if any are left, the one under the cursor first."""
        if self._files.not_compared and not self._is_busy:
            self._is_busy = True
            work: WorkType[None] = self._compare  # a coroutine would never be awaited if the screen closes now
            self._screen.run_worker(work, group="compare")

    async def _compare(self) -> None:
        files = self._files.not_compared
        try:
            await in_daemon(lambda: self._files.compare_some(files))
        finally:
            self._is_busy = False
        self._show()


class ReviewProgress:
    """Shows which files are reviewed, in the titles of the files, the list, the ruler and the title of the screen."""

    def __init__(
        self, files: ChangedFiles, page: DiffFiles, file_list: FileList, ruler: HunkRuler, status: ViewerStatus
    ) -> None:
        self.title = TitleLine()
        self._files = files
        self._page = page
        self._list = file_list
        self._ruler = ruler
        self._status = status
        self._reviewed: Sequence[int] = ()
        """The reviewed files, counted from 0."""

    def show(self, scope: str) -> None:
        """Show which files are reviewed, and the title."""
        self._reviewed = self._files.reviewed.numbers(self._files.files)
        self._page.mark_reviewed(self._reviewed)
        self._ruler.show(self._reviewed)
        self._list.refresh()
        self.show_title(scope)

    def show_title(self, scope: str) -> None:
        """Show in the title the scope, the number of files to review, the current file and hunk, and who changed the
        file; without a file, most keys do nothing.
        """
        files, file = self._files, self._files.current
        if file is not None:
            self._list.choose(files.chosen)
        else:
            self._status.show_keys()
        diff = files.diffs[files.chosen] if file is not None else None
        is_past = bool(self._status.fixed)
        more = self._status.index.more if self._status.index is not None else 0
        scope += f" ({counted(more, 'more file')} not shown)" if more else ""
        rest = "" if is_past else rest_text(len(files.files), len(self._reviewed))
        author = authorship(file) if file is not None else ""
        self.title.show(ViewerTitle(f"PAST · {scope}" if is_past else scope, diff, files.hunk, rest, author))

    def toggle(self, scope: str) -> None:
        """Mark the current file as reviewed and go to the next unreviewed one, or remove its mark."""
        file = self._files.current
        if file is None or self._status.refuses():
            return
        is_reviewed = self._files.reviewed.toggle(file)
        self.show(scope)
        number = next_unreviewed(len(self._files.files), self._reviewed, self._files.chosen)
        if is_reviewed and number >= 0:
            self._page.go_to(number)
