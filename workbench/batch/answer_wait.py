"""How long an attempt waits for its user."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

_POLL: Final = 0.2


class AnswerWait:
    """Waits for the user of one attempt; all methods may be called in any thread."""

    def __init__(self, seconds: float, note: Callable[[str], None]) -> None:
        """`seconds` is how long a question waits if no one has the attempt open. `note` is called with each question
        once the attempt waits for its answer, and with an empty text afterwards.
        """
        self._seconds = seconds
        self._note = note
        self._changed = threading.Condition()
        self._is_woken = False
        self._is_over = False
        self._users = 0
        self._waited = 0.0
        self._since: float | None = None

    @property
    def waited(self) -> float:
        """For how many seconds the attempt has waited so far."""
        with self._changed:
            return self._waited + (time.monotonic() - self._since if self._since is not None else 0.0)

    @property
    def has_user(self) -> bool:
        """Whether a question may be answered, now or later."""
        return self._seconds > 0 or self._users > 0

    def wake(self) -> None:
        """Let the attempt continue: its user has sent a command."""
        with self._changed:
            self._is_woken = True
            self._changed.notify_all()

    def set_users(self, users: int) -> None:
        """Note how many screens have the attempt open."""
        with self._changed:
            self._users = users
            self._changed.notify_all()

    def end(self) -> None:
        """Wait no more, now and later."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    def for_answer(self, question: str, is_open: Callable[[], bool] = lambda: True) -> bool:
        """Wait until the user sends a command or the question is not open any more; return False if neither happens in
        time.
        """
        return self._wait(self._seconds, question, is_open)

    def for_message(self) -> bool:
        """Wait for a command as long as the user has the attempt open; return whether one came."""
        return self._wait(0.0, "", lambda: True)

    def _wait(self, seconds: float, question: str, is_open: Callable[[], bool]) -> bool:
        with self._changed:
            if not (self._is_woken or seconds or self._users):
                return False
            self._since = began = time.monotonic()
            if question and not self._is_woken:
                self._report(question)
            while not (self._is_woken or self._is_over) and is_open():
                if time.monotonic() - began >= seconds and not self._users:
                    break
                self._changed.wait(_POLL)
            self._waited += time.monotonic() - began
            self._since = None
            if question:
                self._report("")
            is_answered = self._is_woken or not is_open()
            self._is_woken = False
            return is_answered and not self._is_over

    def _report(self, question: str) -> None:
        with suppress(OSError):  # a full disk must not end the attempt
            self._note(question)
