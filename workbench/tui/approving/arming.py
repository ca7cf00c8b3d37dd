"""When a question may be answered: keys meant for something else never do. Pure; times are seconds of any one clock."""

from __future__ import annotations

QUIET = 0.5
"""Seconds a question must be visible without a key before it takes an answer.

What deletes, calls a model or trusts a folder waits as long: nothing that was typed ahead counts.
"""


class Arming:
    """The quiet time of one question on the screen; once over it stays over, until the question is shown anew."""

    def __init__(self) -> None:
        self._quiet_since: float | None = None
        self._armed = False

    def shown(self, at: float) -> None:
        """The question is visible from now on (again)."""
        self._quiet_since = at
        self._armed = False

    def key(self, at: float) -> bool:
        """A key was pressed; whether it may answer. One that may not begins the quiet time anew."""
        if self.is_armed(at):
            self._armed = True
            return True
        if self._quiet_since is not None:
            self._quiet_since = max(at, self._quiet_since)
        return False

    def is_armed(self, at: float) -> bool:
        """Whether a key pressed at that time may answer.

        Asking decides nothing for keys that were pressed earlier and are still to come: after a stall the screen asks
        before it hears them.
        """
        return self._armed or (self._quiet_since is not None and at - self._quiet_since >= QUIET)


class Overheard:
    """What is typed before the quiet time is over: words are for the prompt, one key pressed too early is nothing."""

    def __init__(self, own: frozenset[str]) -> None:
        self.own = own
        self._letters = ""

    def hear(self, letter: str) -> str:
        """One more letter; all of them as soon as they can be no key of the question's, which are `own`."""
        self._letters += letter
        is_one_key = letter in self.own and not self._letters.strip(letter)
        return "" if is_one_key else self._letters

    def forget(self) -> None:
        """The quiet time is over: what was pressed before it meant nothing."""
        self._letters = ""
