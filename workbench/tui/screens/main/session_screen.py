"""The base of the screens that show a session, now or as it was: its panels, its search, and pages about its parts."""

from __future__ import annotations

from typing import ClassVar, Final

from textual import on
from textual.binding import Binding, BindingType

from workbench.tui.messages import DiffChosen, FileChosen, TextChosen
from workbench.tui.open_screens import open_chosen, open_diff
from workbench.tui.screens.main.search import SEARCH_KEYS
from workbench.tui.screens.main.session_view import PANEL_KEYS, SessionView
from workbench.tui.textual_seam.screen import LowLatencyScreen
from workbench.view.review.review import Review

_DIFF_KEY: Final = Binding("f5", "diff", "Diff viewer", id="diff", priority=True)


class SessionScreen(LowLatencyScreen):
    """Delegates the keys of the panels to `view`, and shows the changes in `review`."""

    BINDINGS: ClassVar[list[BindingType]] = [*PANEL_KEYS, *SEARCH_KEYS, _DIFF_KEY]
    view: SessionView
    review: Review

    @on(DiffChosen)
    @on(FileChosen)
    @on(TextChosen)
    def on_page_chosen(self, event: DiffChosen | FileChosen | TextChosen) -> None:
        """Show what one action changed, the diff of one file, or a text."""
        open_chosen(self.app, self.review, event)

    def action_diff(self) -> None:
        """Show everything that changed in this session."""
        open_diff(self.app, self.review)

    async def action_find(self) -> None:
        """Open the search through the session."""
        await self.view.begin_search()

    def action_match(self, by: int) -> None:
        """Focus the next match, or the previous one."""
        self.view.search.step(by, takes_focus=True)

    def action_panel(self, name: str) -> None:
        """Focus a panel."""
        self.view.open_panel(name)

    def action_zoom(self) -> None:
        """Maximize the focused panel, or undo that."""
        self.view.zoom()

    def action_resize(self, wider: int, higher: int) -> None:
        """Make the side panels wider, or the focused panel higher, by some cells."""
        self.view.move_border(wider, higher)

    def action_scroll(self, lines: int, pages: int = 0) -> None:
        """Scroll the conversation by lines, or by screenfuls."""
        self.view.scroll_conversation(lines, pages)

    def action_ends(self, last: bool) -> None:
        """Go to the end of the conversation and follow it, or load all of it and go to its start."""
        self.view.scroll_to_end(last=last)
