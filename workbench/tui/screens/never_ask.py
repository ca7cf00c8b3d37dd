"""The second confirmation of the mode that never asks; a modal that takes its answer as a question does."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from workbench.config.check import NEVER_MEANS
from workbench.tui.screens.question import QuestionScreen
from workbench.tui.widgets.painting import css_beside

_ARMED = "y never ask · n keep asking"
_QUIET = "y in a moment… · n keep asking"


class NeverAskScreen(QuestionScreen[bool]):
    """Dismisses with whether the mode is confirmed; other letters go to the prompt and begin the quiet time anew."""

    DEFAULT_CSS = css_beside(__file__)
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "refuse", "Keep asking", id="never-ask.no")]

    def __init__(self, typed: Callable[[str], None], *, clock: Callable[[], float] = time.monotonic) -> None:
        """`typed` takes what was meant for the prompt."""
        super().__init__(clock)
        self._typed = typed
        self._keys = Static(id="never-ask-keys")

    def compose(self) -> ComposeResult:
        """What the mode means, and the keys."""
        with Vertical(id="never-ask-box") as box:
            box.border_title = "Never ask in this session?"
            yield Static(Content("\n\n".join(NEVER_MEANS)), id="never-ask-said")
            yield self._keys

    def tell(self) -> None:
        """Show the keys that work now."""
        self._keys.update(Content(_ARMED if self.is_armed else _QUIET))

    def unanswered(self) -> bool:
        """The mode stays."""
        return False

    def on_key(self, event: events.Key) -> None:
        """`y` confirms once the quiet time is over, `n` never waits; words are for the prompt."""
        may_answer = self.heard(event)
        if event.key == "n":
            self.leave(False)
        elif event.key == "y" and may_answer:
            self.leave(True)
        elif event.is_printable and event.character:
            self._pass_on(event.character)
        else:
            return
        event.stop()

    def on_paste(self, event: events.Paste) -> None:
        """A paste is for the prompt, and answers nothing."""
        event.stop()
        self._pass_on(event.text)

    def _pass_on(self, text: str) -> None:
        self._typed(text)
        self.arming.shown(self.clock())
        self.tell()

    def action_refuse(self) -> None:
        """Keep asking."""
        self.leave(False)
