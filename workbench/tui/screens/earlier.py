"""The older parts of a long session: read when the person goes there, or looks for something in all of it."""

from __future__ import annotations

from collections.abc import Callable

from textual import on

from workbench.tui.fold.state import SessionState
from workbench.tui.links.follower import Follower
from workbench.tui.messages import EarlierWanted
from workbench.tui.screens.dragging import Dragging


class Earlier(Dragging):
    """The part of the main screen that has them read."""

    state: SessionState
    follower: Follower

    @on(EarlierWanted)
    def on_earlier_wanted(self, wanted: EarlierWanted) -> None:
        """Read one part, or all; what is asked for twice is read once."""
        if wanted.all_of_it:
            self.run_worker(self.read_until(lambda: False), group="all-earlier", exclusive=True)
        elif not self.follower.is_reading:
            self.run_worker(self.follower.read_earlier(), group="earlier")

    async def read_until(self, is_enough: Callable[[], bool]) -> None:
        """Read part after part until that is so, or until there is no more."""
        while not is_enough() and await self.follower.read_earlier():
            pass
