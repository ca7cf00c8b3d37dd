"""The question from the agent, docked at the bottom: options and a line for free text. Opened by `QuestionOpener`.

Text typed before the question could be read goes to the prompt, and the question closes until the user has finished
typing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ClassVar, Final

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Input, Static

from workbench.text import visible
from workbench.tools.ask_human.question import read_question, who_asks
from workbench.tui.key_names import key_of
from workbench.tui.screens.question_base import QuestionScreen, behind_bindings
from workbench.tui.widgets.dock import LOW, LOWEST_DOCKED, SIDES, ReservingPanel, docked_rows, hint_line
from workbench.tui.widgets.markdown_stream import MarkdownStream
from workbench.tui.widgets.strips import css_beside
from workbench.view.approval.questions import Later, TextAnswer
from workbench.view.formatting.key_hints import KeyHint
from workbench.view.state import ActionItem


class AnswerLine(Input):
    """The input line for a free answer; it gets the keys that the card does not handle, and a paste never submits."""

    def __init__(self, takes: Callable[[events.Key | events.Paste], bool], placeholder: str) -> None:
        super().__init__(id="answer", placeholder=placeholder, select_on_focus=False)
        self._takes = takes

    async def on_key(self, event: events.Key) -> None:
        """Drop a key that the card has handled; run the line's own keys at once, so that no later letter gets ahead."""
        if not self._takes(event):
            event.prevent_default()
            event.stop()
            return
        active = None if event.is_printable else self.screen.active_bindings.get(event.key)
        if active is not None and active.node is self and active.enabled:
            event.prevent_default()
            event.stop()
            await self.app.run_action(active.binding.action, self)

    def on_paste(self, event: events.Paste) -> None:
        """Insert the paste as one line, with hidden characters made visible."""
        event.prevent_default()
        event.stop()
        if self._takes(event):
            self.insert_text_at_cursor(visible(" ".join(event.text.split()), lines=False))


_AROUND: Final = 3
"""Rows of the panel beside the question: title, answer and key hints."""
_GAPS: Final = 2
"""Blank lines above the answer and above the key hints on a screen that is high enough."""
_TYPED: Final = frozenset({"enter", "backspace", "ctrl+j"})


class OptionLine(Static):
    """One option, with the key that chooses it."""

    def __init__(self, number: int, text: str) -> None:
        super().__init__(Content.assemble((f" {number} ", "bold $primary"), visible(f" {text}", lines=False)))
        self.number = number


class AnswerScreen(QuestionScreen[TextAnswer | Later]):
    """Asks one question; dismisses with the answer, or with `Later` if it is postponed or withdrawn.

    `pass_on` is called with text typed too early; if it is None, because the user opened the card, such text is
    dropped. `reserve_rows` is called with the number of rows at the bottom of the screen that the question covers.
    """

    DEFAULT_CSS = css_beside(__file__)
    AUTO_FOCUS = "#answer"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "later", "Later", id="answer.later"),
        Binding("down", "move(1)", "Down", show=False, priority=True, id="answer.down"),
        Binding("up", "move(-1)", "Up", show=False, priority=True, id="answer.up"),
        Binding("pagedown", "move(10)", "Page down", show=False, priority=True, id="answer.page-down"),
        Binding("pageup", "move(-10)", "Page up", show=False, priority=True, id="answer.page-up"),
        *behind_bindings("answer"),
    ]

    def __init__(
        self,
        action: ActionItem,
        *,
        draft: str = "",
        pass_on: Callable[[events.Key | events.Paste], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
        reserve_rows: Callable[[int], None] = lambda rows: None,
    ) -> None:
        super().__init__(clock)
        self._question = read_question(action.arguments)
        self._title = f"T{who_asks(action.agent)[1:]} asks"
        self._pass_on = pass_on
        placeholder = "Or type your own answer" if self._question.options else "Your answer"
        self._draft = draft
        self._line = AnswerLine(self._takes, placeholder)
        self._keys = Static(id="keys")
        self._asked = VerticalScroll(id="asked", can_focus=False)
        self._panel = ReservingPanel(reserve_rows)
        self._early: list[events.Key | events.Paste] = []
        self._passed_on = False

    def compose(self) -> ComposeResult:
        """Yield the question, its options, the line for free text, and the key hints."""
        self._line.value = self._draft
        with self._panel:
            yield Static(Content.styled(self._title, "bold"), id="title")
            with self._asked:
                yield Vertical(MarkdownStream(self._question.text), id="question")
                for number, text in enumerate(self._question.options, 1):
                    yield OptionLine(number, text)
            yield self._line
            yield self._keys

    def no_answer(self) -> Later:
        """Return a `Later` with the draft, marked as not postponed by the user."""
        return Later(self._line.value, aside=True)

    def on_resize(self) -> None:
        """Adapt to the size of the screen."""
        height = self.size.height
        self.set_class(height <= LOW, "-low")
        self.set_class(height < LOWEST_DOCKED, "-lowest")
        around = _AROUND + (_GAPS if height > LOW else 0)
        self._asked.styles.max_height = max(1, docked_rows(height) - around)
        self.show_keys()

    def _takes(self, event: events.Key | events.Paste) -> bool:
        """Choose or send if the key does that; return whether the line should handle the event as text."""
        armed = self.quiet.accepts(event)
        self.call_after_refresh(self.show_keys)
        if not armed:
            return not self._passes_on(event)
        self._early.clear()
        return isinstance(event, events.Paste) or not self._answers(event.key)

    def _passes_on(self, event: events.Key | events.Paste) -> bool:
        """Keep text typed too early out of the answer, and pass it to the prompt unless it is only the digit of an
        option.

        Returns False if the event is not text.
        """
        if isinstance(event, events.Key) and not event.is_printable and event.key not in _TYPED:
            return False
        self._early.append(event)
        if self._pass_on is not None and not self._is_one_choice():
            self._passed_on = True
            for early in self._early:
                self._pass_on(early)
            self._early.clear()
        return True

    def _is_one_choice(self) -> bool:
        """Return whether the only key typed too early is the digit of an option: a choice, not text for the prompt."""
        keys = {early.key if isinstance(early, events.Key) else "" for early in self._early}
        options = (str(number) for number in range(1, len(self._question.options) + 1))
        return not self._passed_on and len(keys) == 1 and keys.issubset(options)

    def _answers(self, key: str) -> bool:
        """Send the text on enter or, with an empty line, the option with this digit; return whether the key did so."""
        if key == "enter":
            self._answer(self._line.value)
            return True
        return not self._line.value and key.isdecimal() and self._chosen(int(key))

    def _chosen(self, number: int) -> bool:
        options = self._question.options
        if not 1 <= number <= len(options):
            return False
        self._answer(options[number - 1])
        return True

    def _answer(self, text: str) -> None:
        if text.strip():
            self.finish(TextAnswer(text.strip()))

    def show_keys(self) -> None:
        """Show the active keys; if early text went to the prompt, close once the user stops typing."""
        if self.is_finished:
            return
        armed = self.quiet.check()
        if armed and self._passed_on and self.is_current:
            self.finish(Later(self._line.value, aside=True))
            return
        self._keys.update(hint_line(self.app, self._hints(armed), max(4, self.size.width - SIDES)))

    def _hints(self, armed: bool) -> tuple[KeyHint, ...]:
        count = 0 if self._line.value else len(self._question.options)
        choose = (KeyHint(f"1–{count}" if count > 1 else "1", "Choose", 1),) if count else ()
        ready = (*choose, KeyHint("Enter", "Send", 0)) if armed else (KeyHint("", "ready in 0.5s", 0),)
        scroll = (KeyHint("↑↓", "Scroll", 3),) if self._asked.max_scroll_y > 0 else ()
        return (*ready, *scroll, KeyHint(key_of(self.app, "answer.later", "escape"), "Not now", 2))

    def on_click(self, event: events.Click) -> None:
        """Choose the option that was clicked."""
        if isinstance(event.widget, OptionLine) and self.quiet.is_armed:
            self._chosen(event.widget.number)

    def action_later(self) -> None:
        """Postpone the question."""
        self.finish(Later(self._line.value))

    def action_move(self, lines: int) -> None:
        """Scroll the question."""
        self._asked.scroll_relative(y=lines, animate=False)
