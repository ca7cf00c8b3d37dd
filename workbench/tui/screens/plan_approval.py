"""Asks to approve the agent's plan when a run in plan mode has ended; the key also chooses the mode to run it in."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ClassVar, Final

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from workbench.tui.key_names import key_of
from workbench.tui.screens.question_base import QuestionScreen, behind_bindings
from workbench.tui.widgets.dock import LOW, SIDES, ReservingPanel, hint_line
from workbench.tui.widgets.strips import css_beside, update_content
from workbench.view.approval.plan import PlanChoice
from workbench.view.formatting.key_hints import KeyHint, hints_width

_TEXT: Final = "Approve this plan, in the mode you choose? To change it, press n and write what should be different."


class PlanScreen(QuestionScreen[str]):
    """Asks about a plan; dismisses with the mode to run it in, which is empty if the plan is not approved now.

    Letters that choose no mode, and all letters typed before the quiet time is over, go to the prompt and close the
    screen.
    """

    DEFAULT_CSS = css_beside(__file__)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "later", "Not now", id="plan.later"),
        *behind_bindings("plan"),
    ]

    def __init__(
        self,
        choices: tuple[PlanChoice, ...],
        type_in_prompt: Callable[[str], None],
        *,
        clock: Callable[[], float] = time.monotonic,
        reserve_rows: Callable[[int], None] = lambda rows: None,
    ) -> None:
        """`type_in_prompt` is called with text that was meant for the prompt.

        `reserve_rows` is called with the number of rows at the bottom of the screen that the question covers.
        """
        super().__init__(clock)
        self._panel = ReservingPanel(reserve_rows)
        self._choices = {choice.key: choice for choice in choices}
        self._type_in_prompt = type_in_prompt
        self._keys = Static(id="keys")

    def compose(self) -> ComposeResult:
        """Yield the question and the key hints."""
        with self._panel:
            yield Static(Content.styled("Plan ready", "bold"), id="title")
            yield Static(Content(_TEXT), id="text")
            yield self._keys

    def no_answer(self) -> str:
        """Return an empty mode: the plan is not approved."""
        return ""

    def on_resize(self) -> None:
        """Adapt to the size of the screen."""
        self.set_class(self.size.height <= LOW, "-low")
        self.show_keys()

    def show_keys(self) -> None:
        """Show the active keys."""
        width = max(4, self.size.width - SIDES)
        hints = self._hints(len(self._choices))
        if hints_width(hints) > width:
            hints = self._hints(1)
        if hints_width(hints) > width:  # the mode of a key is never cut
            hints = [hint for hint in hints if hint.key != "n"]
        update_content(self._keys, hint_line(self.app, hints, width))

    def _hints(self, approving: int) -> list[KeyHint]:
        """Return the keys with their modes; the first `approving` ones say that they approve the plan."""
        later = KeyHint(key_of(self.app, "plan.later", "escape"), "Not now", 7)
        if not self.quiet.check():
            return [KeyHint("", "y (ready in 0.5s)"), later]
        hints = [
            KeyHint(choice.key, f"Approve, {choice.label}" if rank < approving else choice.label, rank)
            for rank, choice in enumerate(self._choices.values())
        ]
        return [*hints, KeyHint("n", "Keep planning", 8), later]

    def on_key(self, event: events.Key) -> None:
        """Approve with the key of a mode after the quiet time; `n` closes, and other letters go to the prompt."""
        may_answer = self.quiet.accepts(event)
        if may_answer and event.key in self._choices:
            self.finish(self._choices[event.key].mode)
        elif may_answer and event.key == "n":
            self.finish("")
        elif event.is_printable and event.character:
            self._pass_on(event.character)
        else:
            return
        event.stop()

    def on_paste(self, event: events.Paste) -> None:
        """Put pasted text into the prompt."""
        event.stop()
        self._pass_on(event.text)

    def _pass_on(self, text: str) -> None:
        self._type_in_prompt(text)
        self.finish("")

    def action_later(self) -> None:
        """Close without approving."""
        self.finish("")
