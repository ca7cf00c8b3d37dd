"""When a question may be answered: keys meant for something else never do. Pure; times are seconds of any one clock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

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

    @property
    def is_over(self) -> bool:
        """Whether a key or a click may have answered: one came after the quiet time."""
        return self._armed


class Confirmation:
    """Binds one answer on a panel to what is in sight: a second press, or a key below what it agrees to.

    What is asked about is in sight from the frame on that shows it. A key or a click answers it when it was pressed
    `QUIET` seconds after that frame and after any that came too early. When it was pressed counts, not when the screen
    came to handle it, so that nothing typed blindly while the screen stood still is an answer.
    """

    PASSES: Final = frozenset({"escape", "up", "down", "pageup", "pagedown", "home", "end", "tab", "shift+tab"})
    """Keys that answer nothing anywhere: they work at once, and leave the quiet time as it is."""

    def __init__(self, when_painted: Callable[[Callable[[], None]], object], clock: Callable[[], float]) -> None:
        """`when_painted` has something called once what was put on the screen until now is painted."""
        self._when_painted = when_painted
        self._clock = clock
        self._about: object = None
        self._arming = Arming()

    def ask(self, about: object) -> None:
        """Ask about this, which the next frame shows; an earlier answer does not count for it."""
        self._about, arming = about, Arming()
        self._arming = arming
        self._when_painted(lambda: arming.shown(self._clock()))

    def forget(self) -> None:
        """Nothing is asked about any more."""
        self._about = None

    @property
    def is_armed(self) -> bool:
        """Whether a key pressed now may answer."""
        return self._arming.is_armed(self._clock())

    def hears(self, key: str, age: float) -> bool:
        """Hear of a key (empty for a click) pressed `age` seconds ago; false for one that came too early to count."""
        return self._about is None or key in self.PASSES or self._arming.key(self._clock() - max(0.0, age))

    def is_asked(self, about: object) -> bool:
        """Whether this is what is asked about."""
        return self._about is not None and self._about == about

    def is_answered(self, about: object) -> bool:
        """Whether this is what is asked about, and the last key or click that was heard answers it."""
        return self.is_asked(about) and self._arming.is_over


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
