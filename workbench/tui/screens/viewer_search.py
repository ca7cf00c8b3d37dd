"""Searching in the diff viewer: `/`, then `n` and `N`, over all files or the one that is shown."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType

from workbench.client.threads import in_daemon
from workbench.tui.screens.viewer_base import ViewerBase
from workbench.tui.widgets.review_line import ReviewLine
from workbench.tui.widgets.review_view import ReviewView
from workbench.view.diff.search import MOST_MATCHES, Match, find


class ViewerSearch(ViewerBase):
    """The part of the diff viewer that searches."""

    _match = -1
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "search", "Search", id="viewer.search"),
        Binding("N", "again(-1)", "Previous match", id="viewer.previous-match"),
    ]

    def action_search(self) -> None:
        """Ask for what to search."""
        self.query_one(ReviewLine).ask("search")
        self.say("")

    async def search(self, needle: str, whole: bool) -> None:
        """Find all places, in all files or in the one shown, and go to the first from here on."""
        places = range(len(self.files)) if whole else [self.chosen]
        files = [(place, self.files[place]) for place in places if place < len(self.files)]

        def search() -> list[Match]:
            return [match for place, file in files for match in find(needle, self.compared(file), place)]

        self.matches = (await in_daemon(search))[:MOST_MATCHES]
        self._match = self._first_from_here() - 1
        if self.matches:
            self._go_to_match(1)
        else:
            self.query_one(ReviewView).mark_found([], None)
            self.say(f"{needle!r} is not there" if needle else "")

    def _first_from_here(self) -> int:
        """The first match at the cursor or below it, or in a later file."""
        view = self.query_one(ReviewView)
        old, new = view.geometry.lines_from(view.marks.cursor)
        for index, match in enumerate(self.matches):
            is_below = match.file == self.chosen and match.line >= (old if match.side == "old" else new)
            if is_below or match.file > self.chosen:
                return index
        return 0

    def _go_to_match(self, by: int) -> None:
        self._match = (self._match + by) % len(self.matches)
        match = self.matches[self._match]
        if match.file != self.chosen:
            self.go_to(match.file)
        found = [other for other in self.matches if other.file == match.file]
        self.query_one(ReviewView).mark_found(found, match)
        more = "+" if len(self.matches) >= MOST_MATCHES else ""
        self.say(f"match {self._match + 1} of {len(self.matches)}{more} · n N · esc ends")

    def action_again(self, by: int) -> None:
        """The next or previous match; without a search the next or previous hunk."""
        if self.matches:
            self._go_to_match(by)
        else:
            self.query_one(ReviewView).action_step(by)

    def end_search(self) -> bool:
        """Nothing is marked any more; whether anything was."""
        found, self.matches = bool(self.matches), []
        if found:
            self.query_one(ReviewView).mark_found([], None)
            self.say("")
        return found
