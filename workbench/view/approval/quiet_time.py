"""The quiet time: a key answers a question only once the question has been visible for a moment without a key press."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    pass


QUIET = 0.5
"""Seconds that a question must be visible without a key press before it accepts an answer.

Panels that confirm a deletion, a model call or the trust in a directory wait as long, so that keys typed ahead do not
count.
"""


class Arming:
    """The quiet time of one question on the screen; once over, it stays over until the question is shown again."""

    def __init__(self) -> None:
        self._quiet_since: float | None = None
        self._armed = False

    def start(self, at: float) -> None:
        """Start the quiet time: the question is visible from now on."""
        self._quiet_since = at
        self._armed = False

    def key(self, at: float) -> bool:
        """Process a key press and return whether it may answer; one that may not restarts the quiet time."""
        if self.is_armed(at):
            self._armed = True
            return True
        if self._quiet_since is not None:
            self._quiet_since = max(at, self._quiet_since)
        return False

    def is_armed(self, at: float) -> bool:
        """Return whether a key pressed at that time may answer.

        A call does not end the quiet time: after a stall, the screen may call this before it receives earlier key
        presses.
        """
        return self._armed or (self._quiet_since is not None and at - self._quiet_since >= QUIET)

    @property
    def is_over(self) -> bool:
        """Whether a key or a click has come after the quiet time, so that it may have answered."""
        return self._armed


class Confirmation:
    """Accepts an answer on a panel (a second press, or a key that agrees to the text above it) only for what is in
    sight.

    A question is in sight from the first frame that shows it. A key or click answers it if it was pressed at least
    `QUIET` seconds after that frame and after any press that came too early. The time of the press counts, not the time
    at which the screen handled it, so keys typed blindly while the screen was frozen answer nothing.
    """

    PASSES: Final = frozenset({"escape", "up", "down", "pageup", "pagedown", "home", "end", "tab", "shift+tab"})
    """Keys that never answer; they take effect at once and do not restart the quiet time."""

    def __init__(self, when_painted: Callable[[Callable[[], None]], object], clock: Callable[[], float]) -> None:
        """`when_painted` calls a function once everything put on the screen so far has been painted."""
        self._when_painted = when_painted
        self._clock = clock
        self._about: object = None
        self._arming = Arming()

    def ask(self, about: object) -> None:
        """Ask about `about`, which the next frame shows; earlier key presses do not answer it."""
        self._about, arming = about, Arming()
        self._arming = arming
        self._when_painted(lambda: arming.start(self._clock()))

    def forget(self) -> None:
        """Drop the question, so that no key answers it any more."""
        self._about = None

    @property
    def is_armed(self) -> bool:
        """Whether a key pressed now may answer."""
        return self._arming.is_armed(self._clock())

    def hears(self, key: str, age: float) -> bool:
        """Process a key (empty for a click) pressed `age` seconds ago; return False if it was too early to have an
        effect.
        """
        return self._about is None or key in self.PASSES or self._arming.key(self._clock() - max(0.0, age))

    def is_asked(self, about: object) -> bool:
        """Return whether this is what is being asked about."""
        return self._about is not None and self._about == about

    def is_answered(self, about: object) -> bool:
        """Return whether this is what is being asked about and the last key or click may answer it."""
        return self.is_asked(about) and self._arming.is_over


class Overheard:
    """Collects what is typed before the quiet time is over: words go to the prompt, a single key is dropped."""

    def __init__(self, own: frozenset[str]) -> None:
        self.own = own
        self._letters = ""

    def hear(self, letter: str) -> str:
        """Add a letter and return all letters, or "" while they are only presses of a single one of the `own` keys."""
        self._letters += letter
        is_one_key = letter in self.own and not self._letters.strip(letter)
        return "" if is_one_key else self._letters

    def forget(self) -> None:
        """Forget what was typed, because the quiet time is over."""
        self._letters = ""
