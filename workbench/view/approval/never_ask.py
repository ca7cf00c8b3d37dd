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


def wants_never(settings: Settings, *, is_new: bool, stored: str = "") -> bool:
    """Return whether a session would begin in the mode that never asks, or go on in it.

    That is a new one by its settings, one that a flag would set to it, or one that was left in that mode.
    """
    is_flagged = "mode" in settings.from_flags
    return settings.mode == NEVER if is_new or is_flagged else stored == NEVER


def with_never(settings: Settings) -> Settings:
    """Return the settings with the mode as confirmed, as if a flag had named it."""
    return replace(settings, mode=NEVER, from_flags=tuple(dict.fromkeys((*settings.from_flags, "mode"))))


def without_never(settings: Settings) -> Settings:
    """Return the settings without the unconfirmed mode: the session gets the default, unless it was left in another."""
    return replace(
        settings, mode=Settings().mode, from_flags=tuple(name for name in settings.from_flags if name != "mode")
    )
