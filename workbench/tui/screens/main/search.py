"""The search through the session on the main screen, opened by ctrl+f."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import ClassVar, Final

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.color import Color
from textual.containers import Horizontal
from textual.content import Content
from textual.filter import LineFilter
from textual.widget import Widget
from textual.widgets import Input, Static

from workbench.client.threads import in_daemon
from workbench.text import first_line
from workbench.tui.key_names import hint_content
from workbench.tui.widgets.conversation import Conversation
from workbench.tui.widgets.side_panels import SidePanels
from workbench.tui.widgets.strips import css_beside
from workbench.tui.widgets.timeline import Timeline
from workbench.view.session_search import ItemMatch, find_in
from workbench.view.state import Item, SessionState
from workbench.view.wrapping import clip

_MARK: Final = Style(reverse=True, bold=True)
_CARD_KEYS: Final = "{find.next=n} Next   {find.previous=N} Previous   {conversation.open=enter} Open"
_LINE_KEYS: Final = "↑↓ Move   {search.go=enter} Go   {search.end=escape} End"


class HighlightFilter(LineFilter):
    """Shows each occurrence of a phrase, in any case, reversed and bold, so that it stands out even without colors."""

    def __init__(self, words: str) -> None:
        super().__init__()
        self._needle = words.lower()

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments with the phrase highlighted, split where an occurrence begins or ends."""
        text = "".join(segment.text for segment in segments if not segment.control).lower()
        if self._needle not in text:
            return segments
        inside = set(self._offsets(text))
        cut: list[Segment] = []
        at = 0
        for segment in segments:
            if segment.control:
                cut.append(segment)
                continue
            cut += _pieces(segment, [at + offset in inside for offset in range(len(segment.text))])
            at += len(segment.text)
        return cut

    def _offsets(self, text: str) -> Iterator[int]:
        start = text.find(self._needle)
        while start >= 0:
            end = start + len(self._needle)
            yield from range(start, end)
            start = text.find(self._needle, end)


def _pieces(segment: Segment, marked: list[bool]) -> Iterator[Segment]:
    start = 0
    for end in range(1, len(marked) + 1):
        if end == len(marked) or marked[end] is not marked[start]:
            style = (segment.style or Style()) + _MARK if marked[start] else segment.style
            yield Segment(segment.text[start:end], style)
            start = end


SEARCH_KEYS: Final[tuple[BindingType, ...]] = (
    Binding("ctrl+f", "find", "Search the session", id="find", priority=True, show=False),
    Binding("n", "match(1)", "Next match", id="find.next", show=False),
    Binding("N", "match(-1)", "Previous match", id="find.previous", show=False),
)
"""Bindings of the main screen for the search."""

_WHERE_CHARACTERS: Final = 20
"""Maximum length of a match's location, so that the keys fit on a narrow terminal too."""
_LEAST_EXCERPT: Final = 12
"""The fewest cells that are worth an excerpt of a match."""
_GAPS: Final = 8
"""Cells between the parts of the line."""


class SearchInput(Input):
    """The input line of the search, whose text is not highlighted."""

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return all filters except the search's."""
        return [each for each in super().get_line_filters() if not isinstance(each, HighlightFilter)]


class SessionSearch(Horizontal):
    """Searches messages, commands and results while the user types, including ones that are not mounted or loaded.

    Enter focuses the match, up and down go to others, escape ends the search.
    """

    DEFAULT_CSS = css_beside(__file__)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "go", "Go there", id="search.go"),
        Binding("up", "step(-1)", "Before", id="search.before"),
        Binding("down", "step(1)", "After", id="search.after"),
        Binding("escape", "end", "End", id="search.end"),
    ]

    def __init__(
        self,
        state: SessionState,
        conversation: Conversation,
        side: SidePanels,
        load_until: Callable[[Callable[[], bool]], Awaitable[None]],
    ) -> None:
        """`load_until` loads earlier parts of the session until its argument returns True or all are loaded."""
        super().__init__(id="search")
        self._state = state
        self._conversation = conversation
        self._side = side
        self._load_until = load_until
        self._matches: Sequence[ItemMatch] = ()
        self._current = 0
        self._start: Item | None = None
        """The item at the top of the conversation when the search began; None if its end was followed."""
        self.words = ""
        """The words to search for, empty without a search; a page opened during the search looks for them too."""
        self.line_filters: Sequence[LineFilter] = ()
        """The filter that highlights the words on the main screen; empty without a search."""

    def compose(self) -> ComposeResult:
        """Yield the input line, on the left, and the current match, on the right."""
        yield SearchInput(placeholder="Search messages, commands and results", select_on_focus=True, id="search-words")
        yield Static(id="search-found")

    def begin(self) -> None:
        """Show the input line and focus it."""
        conversation = self._conversation
        self._start = None if conversation.follows else conversation.first_in_sight()
        self.display = True
        self.query_one(Input).focus()

    @on(Input.Changed)
    def on_words_changed(self, event: Input.Changed) -> None:
        """Cancel the search for the earlier words and search for the new ones."""
        event.stop()
        self.words = event.value
        self.run_worker(self._search(event.value), group="search", exclusive=True)

    @on(Input.Submitted)
    def on_submitted(self, event: Input.Submitted) -> None:
        """Focus the current match."""
        event.stop()
        self.action_go()

    def action_go(self) -> None:
        """Focus the current match."""
        self._show_match(takes_focus=True)

    def action_step(self, by: int) -> None:
        """Show the match `by` places further; the search line keeps the focus."""
        self.step(by, takes_focus=False)

    async def action_end(self) -> None:
        """End the search and go back to the prompt."""
        await self.run_action("screen.leave")

    def step(self, by: int, *, takes_focus: bool) -> None:
        """Show the match `by` places further, wrapping around at the ends."""
        if self._matches:
            self._current = (self._current + by) % len(self._matches)
            self._show_match(takes_focus=takes_focus)

    def end(self) -> None:
        """End the search: remove the highlights and hide the line."""
        self._highlight("")
        self.words, self._matches = "", ()
        self._conversation.mark(None)
        self.display = False

    async def _search(self, words: str) -> None:
        """Search the loaded part, then load and search the rest; the current match stays the same."""
        await self._find(words)
        self._highlight(words)
        self._current = self._first_match()
        self._show_match(takes_focus=False)
        if not words.strip() or self._state.first_seq <= 1:
            return
        await self._load_until(lambda: self.words != words)
        if self.words == words:
            item = self._matches[self._current].item if self._matches else None
            await self._find(words)
            self._current = next(
                (at for at, match in enumerate(self._matches) if match.item is item), self._first_match()
            )
            self._show_match(takes_focus=self.screen.focused is not None and not self.has_focus_within)

    async def _find(self, words: str) -> None:
        items = list(self._state.items)
        self._matches = await in_daemon(lambda: find_in(items, words))

    def _first_match(self) -> int:
        """Return the index of the newest match if the end was followed, else of the first one at or below `_start`."""
        last = len(self._matches) - 1
        if self._start is None or last < 0:
            return max(0, last)
        numbers = {id(item): number for number, item in enumerate(self._state.items)}
        top = numbers.get(id(self._start), 0)
        return next((at for at, match in enumerate(self._matches) if numbers[id(match.item)] >= top), last)

    def _highlight(self, words: str) -> None:
        """Highlight the words on the main screen; empty words remove the highlights."""
        if not words.strip() and not self.line_filters:
            return
        self.line_filters = (HighlightFilter(words),) if words.strip() else ()
        for panel in (self._conversation, self._side.query_one(Timeline)):
            for each in (panel, *panel.walk_children(Widget)):
                each.refresh()

    def _show_match(self, *, takes_focus: bool) -> None:
        conversation, status = self._conversation, self.query_one("#search-found", Static)
        if not self._matches:
            conversation.mark(None)
            status.update(Content("not found" if self.words.strip() else ""))
            return
        match = self._matches[self._current]
        conversation.mark(match.item)
        conversation.reveal(match.item, takes_keys=takes_focus)
        keys = hint_content(self.app, _CARD_KEYS if takes_focus else _LINE_KEYS)
        where = f"{self._current + 1}/{len(self._matches)} · {first_line(match.where, _WHERE_CHARACTERS)}"
        available = self.size.width * 3 // 4 - cell_len(where) - keys.cell_length - _GAPS
        excerpt = f" · {clip(match.excerpt, available)}" if available >= _LEAST_EXCERPT else ""
        status.update(Content.assemble(where, excerpt, "   ", keys))
