"""The search of the diff viewer, in one file or in all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from workbench.client.threads import in_daemon
from workbench.text import counted
from workbench.tui.key_names import with_keys
from workbench.tui.screens.diff_viewer_files import ChangedFiles, ViewerStatus
from workbench.tui.widgets.annotated_diff import AnnotatedDiff
from workbench.view.diff.search import MOST_MATCHES, Match, find

_HINTS: Final = "{viewer.next-match=n}/{viewer.previous-match=N} Next/Previous"


class ViewerSearch:
    """Searches the lines of all files or of the selected one, and steps through the matches."""

    def __init__(
        self, files: ChangedFiles, view: AnnotatedDiff, status: ViewerStatus, show_compared: Callable[[], None]
    ) -> None:
        """`show_compared` shows the lines of the files that were compared for the search."""
        self._files = files
        self._view = view
        self._status = status
        status.is_searching = lambda: bool(self.matches)
        self._show_compared = show_compared
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
        self._show_compared()
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
        self._view.mark_matches(self.matches, match)
        more = "+" if len(self.matches) >= MOST_MATCHES else ""
        position = f"match {self._current + 1} of {len(self.matches)}{more}{self._unsearched()}"
        self._status.show(f"{position} · {with_keys(self._view.app, _HINTS)}")

    def _unsearched(self) -> str:
        return f" ({counted(self._unread, 'file')} not searched: not opened yet)" if self._unread else ""

    def mark(self) -> None:
        """Mark the matches."""
        self._view.mark_matches(self.matches, None)

    def end(self) -> bool:
        """Drop the matches; return whether there were any."""
        had_matches, self.matches = bool(self.matches), []
        if had_matches:
            self._view.mark_matches([], None)
            self._status.show("")
        return had_matches

    def _first_from_cursor(self) -> int:
        if self._files.chosen < 0:
            return 0
        old, new = self._view.geometry.lines_from(self._view.marks.cursor)
        for index, match in enumerate(self.matches):
            is_after = match.file == self._files.chosen and match.line >= (old if match.side == "old" else new)
            if is_after or match.file > self._files.chosen:
                return index
        return 0
