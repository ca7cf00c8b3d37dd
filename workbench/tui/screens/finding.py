"""The search through the session on the main screen: ctrl+f, then from place to place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, cast

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widget import Widget

from workbench.client.threads import in_daemon
from workbench.text import first_line
from workbench.tui.marking import FoundFilter
from workbench.tui.screens.jumping import Jumping
from workbench.tui.widgets.conversation import Conversation
from workbench.tui.widgets.prompt import Prompt
from workbench.tui.widgets.search_line import SearchLine
from workbench.tui.widgets.timeline import Timeline
from workbench.view.search import Found, find_in
from workbench.view.state import Item

if TYPE_CHECKING:
    from workbench.tui.app import WorkbenchApp

_WHERE = 20
"""Signs of the place that are shown, so that the keys have room in a narrow terminal too."""


class Finding(Jumping):
    """The part of the main screen that searches what was said and done, also far above what is mounted."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+f", "find", "Search the session", id="find", priority=True, show=False),
        Binding("n", "match(1)", "Next place found", id="find.next", show=False),
        Binding("N", "match(-1)", "Place found before", id="find.previous", show=False),
    ]

    _found: Sequence[Found] = ()
    _place = 0
    _from: Item | None = None
    """What was at the top of the conversation when the search began; None: its end was followed."""

    async def action_find(self) -> None:
        """Ask for what to search."""
        if self.has_class("-zoomed-side"):
            self.action_zoom()
        if not self.query(SearchLine):
            await self.query_one("#talk", Vertical).mount(SearchLine())
        conversation = self.query_one(Conversation)
        self._from = None if conversation.follows else conversation.first_in_sight()
        self.query_one(SearchLine).begin()

    @on(SearchLine.Wanted)
    def on_search_wanted(self, wanted: SearchLine.Wanted) -> None:
        """Look for the words; the last ones written win."""
        self.sought = wanted.words
        self.run_worker(self._search(wanted.words), group="search", exclusive=True)

    async def _search(self, words: str) -> None:
        """What is there first; then all of the session, and the place that is shown stays the same."""
        await self._find(words)
        self._mark_words(words)
        self._place = self._first_place()
        self._show_place(takes_keys=False)
        if not words.strip() or self.state.first_seq <= 1:
            return
        await self.read_until(lambda: self.sought != words)
        if self.sought == words:
            shown = self._found[self._place].item if self._found else None
            await self._find(words)
            self._place = next((at for at, found in enumerate(self._found) if found.item is shown), self._first_place())
            self._show_place(takes_keys=self.focused is not None and not self.query_one(SearchLine).has_focus_within)

    async def _find(self, words: str) -> None:
        items = list(self.state.items)
        self._found = await in_daemon(lambda: find_in(items, words))

    def _first_place(self) -> int:
        """The newest place while the end is followed, else the first one from what is in sight on."""
        last = len(self._found) - 1
        if self._from is None or last < 0:
            return max(0, last)
        numbers = {id(item): number for number, item in enumerate(self.state.items)}
        top = numbers.get(id(self._from), 0)
        return next((place for place, found in enumerate(self._found) if numbers[id(found.item)] >= top), last)

    @on(SearchLine.Stepped)
    def on_search_stepped(self, stepped: SearchLine.Stepped) -> None:
        """Another place, while one writes."""
        self._step(stepped.by, takes_keys=False)

    @on(SearchLine.Entered)
    def on_search_entered(self) -> None:
        """The place that is shown has the keys."""
        self._show_place(takes_keys=True)

    @on(SearchLine.Ended)
    def on_search_ended(self) -> None:
        """Back to the prompt."""
        self.end_search()
        self.query_one(Prompt).focus()

    def action_match(self, by: int) -> None:
        """The next place, or the one before."""
        self._step(by, takes_keys=True)

    def _mark_words(self, words: str) -> None:
        """The words stand out wherever they are on this screen; none do where there are no words."""
        app = cast("WorkbenchApp", self.app)
        if words.strip() or app.found_filters:
            app.found_filters = (FoundFilter(words),) if words.strip() else ()
            for panel in (self.query_one(Conversation), self.query_one(Timeline)):
                for each in (panel, *panel.walk_children(Widget)):
                    each.refresh()

    def end_search(self) -> None:
        """Nothing is looked for any more."""
        self._mark_words("")
        self.sought, self._found = "", ()
        self.query_one(Conversation).mark(None)
        for line in self.query(SearchLine):
            line.display = False

    def _step(self, by: int, *, takes_keys: bool) -> None:
        if self._found:
            self._place = (self._place + by) % len(self._found)
            self._show_place(takes_keys=takes_keys)

    def _show_place(self, *, takes_keys: bool) -> None:
        conversation, line = self.query_one(Conversation), self.query_one(SearchLine)
        if not self._found:
            conversation.mark(None)
            line.say("not found" if self.sought.strip() else "")
            return
        found = self._found[self._place]
        conversation.mark(found.item)
        conversation.reveal(found.item, takes_keys=takes_keys)
        keys = "n N · enter opens" if takes_keys else "↑↓ · enter · esc"
        where = first_line(found.where, _WHERE)
        line.say(f"{self._place + 1}/{len(self._found)} · {where} · {keys} · {found.excerpt}")
