"""The confirmation before a session begins in the mode that never asks; used by the screen and plain mode."""

from __future__ import annotations

import threading
from dataclasses import replace

from workbench.config.modes import NEVER
from workbench.config.settings import Settings


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


def wants_never(settings: Settings, *, is_new: bool) -> bool:
    """Return whether a new session would begin in the mode that never asks, or a flag would set an old one to it."""
    return settings.mode == NEVER and (is_new or "mode" in settings.from_flags)


def without_never(settings: Settings) -> Settings:
    """Return the settings without the unconfirmed mode: a new session gets the default, an old one keeps its own."""
    return replace(
        settings, mode=Settings().mode, from_flags=tuple(name for name in settings.from_flags if name != "mode")
    )
