"""Offers to resume a race that was not completed, above the main screen."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ClassVar, Final, Literal

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from workbench.tui.key_names import key_of
from workbench.tui.screens.question_base import QuestionScreen
from workbench.tui.widgets.dock import SIDES, DockedPanel, hint_line
from workbench.tui.widgets.strips import as_content, css_beside, update_content
from workbench.view.formatting.key_hints import KeyHint
from workbench.view.unfinished_race import UnfinishedRace, unfinished_lines

RaceAnswer = Literal["resume", "show", "delete", ""]
_ANSWERS: Final[dict[str, tuple[RaceAnswer, str]]] = {
    "y": ("resume", "Resume"),
    "s": ("show", "Compare what has ended"),
    "d": ("delete", "Delete it"),
}


class RaceOfferScreen(QuestionScreen[RaceAnswer]):
    """Asks what to do with a race; dismisses with the answer, which takes a key after the quiet time."""

    DEFAULT_CSS = css_beside(__file__)
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Not now", id="race-offer.no")]

    def __init__(self, race: UnfinishedRace, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock)
        self._lines = unfinished_lines(race)
        self._possible = {key: each for key, each in _ANSWERS.items() if race.ended or each[0] != "show"}
        self._keys = Static(id="keys")

    def compose(self) -> ComposeResult:
        """Yield the question and the key hints."""
        with DockedPanel():
            yield Static(Content.styled("Resume the race that was not completed?", "bold"), id="title")
            yield Static(as_content(self._lines), id="text")
            yield self._keys

    def show_keys(self) -> None:
        """Show the active keys."""
        hints = [KeyHint(key, words) for key, (_, words) in self._possible.items()]
        if not self.quiet.check():
            hints = [KeyHint("", f"{', '.join(self._possible)} (ready in 0.5s)")]
        line = hint_line(
            self.app,
            (*hints, KeyHint(key_of(self.app, "race-offer.no", "escape"), "Not now")),
            max(4, self.size.width - SIDES),
        )
        update_content(self._keys, line)

    def on_resize(self) -> None:
        """Adapt the key hints to the width."""
        self.show_keys()

    def no_answer(self) -> RaceAnswer:
        """Return an empty answer: nothing happens."""
        return ""

    def on_key(self, event: events.Key) -> None:
        """Answer with a key after the quiet time; other letters restart that."""
        may_answer = self.quiet.accepts(event)
        if event.key in self._possible and may_answer:
            self.finish(self._possible[event.key][0])
        elif event.is_printable:
            self.quiet.restart()
            self.show_keys()
        else:
            return
        event.stop()

    def action_leave(self) -> None:
        """Close without an answer."""
        self.finish("")
