"""The base of modal questions: a quiet time before keys can answer, one answer, and withdrawal of moot questions."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, TypeVar

from textual import events
from textual.app import App
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.timer import Timer
from textual.widget import Widget

from workbench.tui.messages import BehindScrolled
from workbench.tui.textual_seam.screen import is_batching
from workbench.view.approval.quiet_time import Arming
from workbench.view.state import ActionItem

ResultT = TypeVar("ResultT")
_TICK: Final = 0.1
"""Seconds between two checks during the quiet time; once it is over, nothing is checked until it starts again."""
_STALL: Final = 0.4
"""Seconds between two ticks after which the process, and with it the key reader, must have been stopped."""
_WITHDRAWN: Final = "This request is no longer current; nothing was approved."


class QuietTime:
    """Decides which keys may answer: those pressed `QUIET` seconds after the question was painted and after other keys.

    The time of a key is when it was read from the terminal, not when the screen handles it.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        every: Callable[[float, Callable[[], None]], Timer],
        show_keys: Callable[[], None],
    ) -> None:
        """`every` starts a repeating timer, which is paused after the quiet time; each tick calls `show_keys`."""
        self.clock = clock
        self.arming = Arming()
        self._every = every
        self._show_keys = show_keys
        self._timer: Timer | None = None
        self._ticked_at = 0.0
        self._was_armed = False

    @property
    def has_begun(self) -> bool:
        """Whether the question has been visible before."""
        return self._timer is not None

    @property
    def is_armed(self) -> bool:
        """Whether a key pressed now may answer."""
        return self.arming.is_armed(self.clock())

    def check(self) -> bool:
        """Return whether to show the keys that answer. Once shown, they stay valid even after a stall."""
        if self.has_begun:
            self._check_stall()
        return self._was_armed

    def begin(self) -> None:
        """Start the quiet time because the question has become visible, for the first time or again."""
        self.restart()
        self._ticked_at, self._was_armed = time.monotonic(), False
        if self._timer is None:
            self._timer = self._every(_TICK, self._tick)
        self._show_keys()

    def restart(self) -> None:
        """Start the quiet time again, so that no earlier key can answer."""
        self.arming.start(self.clock())
        self._resume()

    def accepts(self, event: events.Event) -> bool:
        """Record a key, a click or a paste and return whether it may answer."""
        self._check_stall()
        may_answer = self.arming.key(self.clock() - max(0.0, time.monotonic() - event.time))
        if not may_answer:
            self._resume()
        return may_answer

    def _tick(self) -> None:
        self._check_stall()
        self._show_keys()
        if self._was_armed and self._timer is not None:
            self._timer.pause()

    def _resume(self) -> None:
        if self._timer is not None:
            self._timer.resume()

    def _check_stall(self) -> None:
        """Start the quiet time again if the process was stopped during it.

        A stopped process reads no keys, so a key read later may have been pressed before the user saw the question.
        There is no such check if a test sets the clock.
        """
        now = time.monotonic()
        if now - self._ticked_at > _STALL and not self._was_armed and self.clock is time.monotonic:
            self.arming.start(now)
        self._ticked_at, self._was_armed = now, self.is_armed


class QuestionScreen(ModalScreen[ResultT], Generic[ResultT]):
    """A modal screen that accepts an answer only after it has been visible for a while without a key press."""

    takes_words = True
    """Letters go to the prompt: none of them is a key of the app."""
    AUTO_FOCUS = ""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self.quiet = QuietTime(clock, self.set_interval, self.show_keys)
        self.is_finished = False
        self.is_refused: Callable[[ResultT], bool] = lambda result: False
        self.closing_result: ResultT | None = None
        self.renew: Callable[[], None] = self.withdraw  # called when the action has changed

    @abstractmethod
    def show_keys(self) -> None:
        """Show the active keys."""

    @abstractmethod
    def no_answer(self) -> ResultT:
        """Return the result of the screen if it is dismissed without an answer."""

    def on_mount(self) -> None:
        """Restart the quiet time when the window gets the focus, because the click that focuses it is not an answer."""
        self.watch(self.app, "app_focus", self.quiet.begin, init=False)
        _show_keys_as_it_scrolls(self)

    def on_screen_resume(self) -> None:
        """Start the quiet time once the question is painted, for the first time or after a screen above it closed."""
        if self.closing_result is not None:
            self.finish(self.closing_result)
        elif not self.quiet.has_begun and not is_batching(self.app):
            # The first frame is painted while this event is handled, unless frames are held back.
            self.call_later(self.quiet.begin)
        else:
            self.call_after_refresh(self.quiet.begin)

    def update_waiting(self, waiting: Sequence[ActionItem]) -> None:
        """Show this list of waiting actions, which includes the one in question; screens without a list ignore it."""

    def withdraw(self) -> None:
        """Close this screen and all above it without an answer, because the question is no longer current."""
        close_with(self, self.no_answer(), _WITHDRAWN)

    def finish(self, result: ResultT) -> None:
        """Close with the first answer that is not refused; any later one is ignored."""
        if not (self.is_finished or self.is_refused(result)):
            self.is_finished = True
            self.dismiss(result)

    def action_behind(self, lines: int) -> None:
        """Scroll the conversation behind the question."""
        self.post_message(BehindScrolled(lines))


def _show_keys_as_it_scrolls(question: QuestionScreen[Any]) -> None:
    """Show the keys again whenever a part scrolls or is laid out, because they depend on what has been seen."""

    def show() -> None:
        question.call_after_refresh(question.show_keys)

    for part in question.query(Widget):
        if part.styles.overflow_y != "hidden":
            for name in ("scroll_y", "virtual_size", "show_vertical_scrollbar"):
                question.watch(part, name, show, init=False)


def close_with(question: QuestionScreen[ResultT], result: ResultT, notice: str) -> None:
    """Close all screens above a question, if any with a notice, and then the question with the result."""
    question.closing_result = result
    had_screens_above = _close_above(question)
    if question.is_current:
        question.finish(result)
    if had_screens_above:
        question.app.notify(notice, markup=False)


def _close_above(question: QuestionScreen[Any]) -> bool:
    """Close every screen above a question without an answer; return whether there were any."""
    stack = question.app.screen_stack
    above = stack[stack.index(question) + 1 :] if question in stack else []
    for screen in reversed(above):
        if isinstance(screen, QuestionScreen):
            screen.finish(screen.no_answer())
        else:
            screen.dismiss(None)
    return bool(above)


def restart_quiet_times(app: App[Any]) -> None:
    """Start the quiet time of every open question again, so that no earlier key can answer one."""
    for screen in app.screen_stack:
        if isinstance(screen, QuestionScreen):
            screen.quiet.restart()


def scroll_bindings(prefix: str) -> list[BindingType]:
    """Return bindings that scroll a question by its action `move`; their ids start with `prefix`."""
    return [
        Binding("down", "move(1)", "Down", show=False, id=f"{prefix}.down"),
        Binding("up", "move(-1)", "Up", show=False, id=f"{prefix}.up"),
        Binding("pagedown", "move(10)", "Page down", show=False, id=f"{prefix}.page-down"),
        Binding("pageup", "move(-10)", "Page up", show=False, id=f"{prefix}.page-up"),
        Binding("end", "move(1000000)", "End", show=False, id=f"{prefix}.end"),
        Binding("home", "move(-1000000)", "Top", show=False, id=f"{prefix}.home"),
    ]


def behind_bindings(prefix: str) -> list[BindingType]:
    """Return bindings that scroll the conversation behind a question; their ids start with `prefix`."""
    return [
        Binding("ctrl+down", "behind(3)", "Conversation down", show=False, id=f"{prefix}.behind-down"),
        Binding("ctrl+up", "behind(-3)", "Conversation up", show=False, id=f"{prefix}.behind-up"),
    ]
