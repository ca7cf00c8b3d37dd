"""Asks to approve the agent's plan when a run in plan mode has ended; the key also chooses the mode to run it in."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ClassVar, Final

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from workbench.client.client import Client
from workbench.protocol.commands import SendMessage
from workbench.tui.key_names import key_of
from workbench.tui.screens.mode_switch import ModeSwitch
from workbench.tui.screens.question_base import QuestionScreen, behind_bindings
from workbench.tui.widgets.dock import LOW, SIDES, ReservingPanel, hint_line
from workbench.tui.widgets.dock_space import DockSpace
from workbench.tui.widgets.prompt import Prompt
from workbench.tui.widgets.strips import css_beside, update_content
from workbench.view.approval.plan import RUN_PLAN, PlanChoice, plan_choices, plan_ready
from workbench.view.formatting.question import KeyHint
from workbench.view.state import Changed, SessionState

_TEXT: Final = "Approve this plan? It runs in the mode you choose. To change it, write what should be different."


class PlanScreen(QuestionScreen[str]):
    """Dismisses with the mode to run the plan in; empty if the plan is not approved now.

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
        answers = [KeyHint("", "y (ready in 0.5s)")]
        if self.quiet.check():
            choices = self._choices.values()
            answers = [KeyHint(choice.key, choice.label, rank) for rank, choice in enumerate(choices)]
            answers.append(KeyHint("n", "Keep planning", 8))
        hints = (*answers, KeyHint(key_of(self.app, "plan.later", "escape"), "Not now", 7))
        update_content(self._keys, hint_line(self.app, hints, max(4, self.size.width - SIDES)))

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


class PlanOpener:
    """Opens the question about a plan once, when it becomes ready, and again when the user asks for it."""

    def __init__(self, screen: Screen[None], client: Client, state: SessionState, modes: ModeSwitch) -> None:
        self._screen = screen
        self._client = client
        self._state = state
        self._modes = modes
        self._space = DockSpace(screen)
        self._asked = 0
        """The plan about which the user was asked last."""
        self._open: PlanScreen | None = None

    def refresh(self, changed: Changed | None) -> None:
        """Close the question if its plan is no longer current; open it if a new plan is ready and the prompt is empty.

        Without `changed`, the whole session was loaded; a plan in it opens the question only on request.
        """
        ready = plan_ready(self._state)
        if self._open is not None and ready != self._asked:
            self._open.withdraw()
        if changed is None:
            self._asked = ready
        elif ready not in (0, self._asked) and not self._screen.query_one(Prompt).text:
            self.open()

    def open(self) -> bool:
        """Open the question; return False if no plan is ready or something else is on top of the screen."""
        ready, app = plan_ready(self._state), self._screen.app
        if not ready or self._open is not None or app.screen is not self._screen:
            return False
        self._asked = ready
        self._open = PlanScreen(
            plan_choices(self._state),
            lambda text: self._screen.query_one(Prompt).type_in(text),
            reserve_rows=self._space.reserve,
        )
        app.push_screen(self._open, self._closed)
        return True

    def _closed(self, mode: str | None) -> None:
        self._open = None
        self._space.release()
        if mode and plan_ready(self._state) == self._asked:
            self._modes.choose(mode)
            self._client.send(SendMessage(text=RUN_PLAN))
