"""What the modals that ask have in common: the quiet time, leaving once, going away when the question is settled."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

from textual import events
from textual.screen import ModalScreen
from textual.timer import Timer

from workbench.tui.messages import BehindScrolled
from workbench.tui.textual_seam.screen import is_batching
from workbench.view.approval.questions import Arming
from workbench.view.state import ActionItem

ResultT = TypeVar("ResultT")
_TICK: Final = 0.1
_STALL: Final = 0.4
"""Seconds between two ticks after which the screen, and with it whoever reads the keys, must have stood still."""
_GONE = "the question was settled, or what it asked about has changed; nothing was decided here"


class QuestionScreen(ModalScreen[ResultT], Generic[ResultT]):
    """A modal that takes an answer only once it has been in sight for a while without a key."""

    takes_words = True
    """Letters are for the prompt: none of them is a key of the app."""
    AUTO_FOCUS = ""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self.arming = Arming()
        self.clock = clock
        self.has_left = False
        self._ticks: Timer | None = None
        self._ticked_at = 0.0
        self._is_ready = False
        self._withdrawn = False

    @abstractmethod
    def tell(self) -> None:
        """Show the keys that work now."""

    @abstractmethod
    def unanswered(self) -> ResultT:
        """What the screen is dismissed with when nobody answered."""

    def on_mount(self) -> None:
        """A click that brings the window to the front is no answer: it begins the quiet time anew."""
        self.watch(self.app, "app_focus", self.appeared, init=False)

    def on_screen_resume(self) -> None:
        """Visible (again): the quiet time begins when it has been painted.

        The first frame is painted before this event is through, the one after a screen above is gone comes later.
        """
        if self._withdrawn:
            self.leave(self.unanswered())
        elif self._ticks is None and not is_batching(self.app):
            self.call_later(self.appeared)
        else:
            self.call_after_refresh(self.appeared)

    def appeared(self) -> None:
        """In sight from now on: the quiet time begins."""
        self.arming.shown(self.clock())
        self._ticked_at, self._is_ready = time.monotonic(), False
        if self._ticks is None:
            self._ticks = self.set_interval(_TICK, self._tick)
        self.tell()

    def _tick(self) -> None:
        self._check_stall()
        self.tell()

    def _check_stall(self) -> None:
        """Begin the quiet time anew where the process stood still during it.

        When a key was pressed is known from when it was read, and in a process that stood still nobody read it: it may
        have been pressed before its user saw the question. A clock that a test sets does not stand still.
        """
        now = time.monotonic()
        if now - self._ticked_at > _STALL and not self._is_ready and self.clock is time.monotonic:
            self.arming.shown(now)
        self._ticked_at, self._is_ready = now, self.is_armed

    @property
    def is_armed(self) -> bool:
        """Whether a key pressed now may answer."""
        return self.arming.is_armed(self.clock())

    def heard(self, event: events.Event) -> bool:
        """A key was pressed or text pasted; whether that may answer. When it happened counts, not when it came here."""
        self._check_stall()
        return self.arming.key(self.clock() - max(0.0, time.monotonic() - event.time))

    def stands_beside(self, waiting: Sequence[ActionItem]) -> None:
        """These wait now, the one that is asked about among them; for screens that show that."""

    def withdraw(self) -> None:
        """The question was settled elsewhere or has ended: go away, with all that was opened on top of it."""
        self._withdrawn = True
        stack = self.app.screen_stack
        above = stack[stack.index(self) + 1 :] if self in stack else []
        for screen in reversed(above):
            if isinstance(screen, QuestionScreen):
                screen.leave(screen.unanswered())
            else:
                screen.dismiss(None)
        if self.is_current:
            self.leave(self.unanswered())
        if above:
            self.app.notify(_GONE, markup=False)

    def leave(self, result: ResultT) -> None:
        """Close, once: what comes after the first answer is not heard."""
        if not self.has_left:
            self.has_left = True
            self.dismiss(result)

    def action_behind(self, lines: int) -> None:
        """Scroll the conversation behind."""
        self.post_message(BehindScrolled(lines))
