"""The line of a search through the session: the words, and which of the places found is shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.filter import LineFilter
from textual.message import Message
from textual.widgets import Input, Static

from workbench.tui.marking import FoundFilter
from workbench.tui.widgets.painting import css_beside


class Words(Input):
    """What is looked for is not marked where it is written."""

    def get_line_filters(self) -> Sequence[LineFilter]:
        """All but that of the search."""
        return [each for each in super().get_line_filters() if not isinstance(each, FoundFilter)]


class SearchLine(Horizontal):
    """Searches while one writes; enter goes to the place, up and down to others, escape ends it."""

    DEFAULT_CSS = css_beside(__file__)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "go", "Go there", id="search.go"),
        Binding("up", "step(-1)", "Before", id="search.before"),
        Binding("down", "step(1)", "After", id="search.after"),
        Binding("escape", "end", "End", id="search.end"),
    ]

    class Wanted(Message):
        """These words are looked for."""

        def __init__(self, words: str) -> None:
            super().__init__()
            self.words = words

    class Stepped(Message):
        """Another place is to be shown."""

        def __init__(self, by: int) -> None:
            super().__init__()
            self.by = by

    class Entered(Message):
        """The keys go to the place that is shown."""

    class Ended(Message):
        """The search is over."""

    def __init__(self) -> None:
        super().__init__(id="search")

    def compose(self) -> ComposeResult:
        """The words, and beside them what was found."""
        yield Words(placeholder="search messages, commands and results", select_on_focus=True, id="search-words")
        yield Static(id="search-found")

    def begin(self) -> None:
        """Write here."""
        self.display = True
        self.query_one(Input).focus()

    def say(self, text: str) -> None:
        """What was found."""
        self.query_one("#search-found", Static).update(Content(text))

    @on(Input.Changed)
    def on_words_changed(self, changed: Input.Changed) -> None:
        """Search again."""
        changed.stop()
        self.post_message(self.Wanted(changed.value))

    @on(Input.Submitted)
    def on_submitted(self, submitted: Input.Submitted) -> None:
        """Enter."""
        submitted.stop()
        self.action_go()

    def action_go(self) -> None:
        """To the place that is shown."""
        self.post_message(self.Entered())

    def action_step(self, by: int) -> None:
        """The place before, or the one after."""
        self.post_message(self.Stepped(by))

    def action_end(self) -> None:
        """No search any more."""
        self.post_message(self.Ended())
