"""The older parts of a long session: read when the person goes there, or looks for something in all of it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Final

from textual import on

from workbench.tui.messages import EarlierWanted
from workbench.tui.screens.dragging import Dragging
from workbench.tui.widgets.conversation import Conversation
from workbench.tui.widgets.timeline import Timeline
from workbench.view.state import SessionState

if TYPE_CHECKING:  # nothing is followed before the first frame
    from workbench.view.follower import Follower

MOST: Final = 4_000
"""Events that are held at most while their end is followed: some three megabytes of small steps."""
AGAIN: Final = 1_000
"""So many events later it is tried again, where it could not be."""


class Earlier(Dragging):
    """The part of the main screen that has them read."""

    sought = ""
    """The words of the search, also for the pages that open from here."""
    state: SessionState
    _rests_until = 0

    @cached_property
    @abstractmethod
    def follower(self) -> Follower:
        """What reads the session."""

    @on(EarlierWanted)
    def on_earlier_wanted(self, wanted: EarlierWanted) -> None:
        """Read one part, or all; what is asked for twice is read once."""
        if wanted.all_of_it:
            self.run_worker(self.read_until(lambda: False), group="all-earlier", exclusive=True)
        elif not self.follower.is_reading:
            self.run_worker(self.follower.read_earlier(), group="earlier")

    def let_go(self) -> None:
        """Of a session that grew long on screen the end is held, once nobody looks at the rest."""
        last = self.state.last_seq
        if last - self.state.first_seq > MOST and last > self._rests_until and self._can_lose(0):
            self._rests_until = last + AGAIN
            self.run_worker(self.follower.let_go(self._can_lose), group="earlier")

    def _can_lose(self, count: int) -> bool:
        timeline = self.query_one(Timeline)
        is_followed = self.query_one(Conversation).can_lose(count) and timeline.is_at_end
        return is_followed and not timeline.rows.is_filtered and not self.sought

    async def read_until(self, is_enough: Callable[[], bool]) -> None:
        """Read part after part until that is so, or until there is no more."""
        while not is_enough() and await self.follower.read_earlier():
            pass
