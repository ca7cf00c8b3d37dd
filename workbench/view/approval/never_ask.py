"""The confirmation before a session begins in the mode that never asks; used by the screen and plain mode."""

from __future__ import annotations

import threading


class NeverAskQuestion:
    """The question asked before a session begins in the mode that never asks."""

    def __init__(self) -> None:
        self._answered = threading.Event()
        self._confirmed = False

    def answer(self, confirmed: bool) -> None:
        """Answer the question, so that the session can begin."""
        self._confirmed = confirmed
        self._answered.set()

    def wait(self) -> bool:
        """Wait for the answer, in the thread that would begin the session; return whether the mode is confirmed."""
        self._answered.wait()
        return self._confirmed
