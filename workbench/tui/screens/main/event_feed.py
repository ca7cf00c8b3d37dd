"""The event feed of the main screen: follows the session, and loads earlier parts of a long one on demand."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from workbench.client.client import Client, Past
from workbench.tui.deferred_imports import load_later
from workbench.view.state import Changed, SessionState

if TYPE_CHECKING:
    from workbench.view.follower import Follower

MAX_EVENTS: Final = 4_000
"""Number of events to keep while the end is followed; with small steps they take about 3 MB."""
ALL_EARLIER: Final = "all-earlier"
"""The group of the worker that loads all earlier parts."""
RETRY: Final = 1_000
"""Number of new events after which trimming is tried again."""


class SessionFeed:
    """Follows one session; calls `show` with each change, or with None if everything may have changed."""

    def __init__(
        self,
        client: Client,
        state: SessionState,
        show: Callable[[Changed | None], None],
        *,
        start_worker: Callable[..., Any],
        is_behind: Callable[[], bool],
        can_drop: Callable[[int], bool],
    ) -> None:
        """`start_worker` is `run_worker` of a widget; the feed ends with that widget.

        `is_behind` returns whether that widget is still mounting earlier changes; `can_drop(count)` returns whether the
        first `count` items are out of sight and not needed.
        """
        self._client = client
        self._state = state
        self._show = show
        self._start_worker = start_worker
        self._is_behind = is_behind
        self._can_drop = can_drop
        self._next_trim = 0

    @cached_property
    def _follower(self) -> Follower:
        # Imported at the first use, which comes after the first frame.
        from workbench.view.follower import Follower

        return Follower(self._client, self._state, self._show, self._is_behind, load_later)

    def start(self) -> None:
        """Read the history and follow the session."""
        self._start_worker(self._follower.run(), name="follower")

    def replace(self, state: SessionState, past: Past | None) -> None:
        """Show another state of the session, whose older parts are read from `past`."""
        self._follower.replace(state, past)

    def load(self, *, everything: bool, then: Callable[[], object] = lambda: None) -> None:
        """Load the part before the first loaded event, or all parts; a repeated request loads them only once.

        `then` is called when all parts are loaded.
        """
        if everything:
            self._start_worker(self._load_all(then), group=ALL_EARLIER, exclusive=True)
        elif not self._follower.is_reading:
            self._start_worker(self._follower.read_earlier(), group="earlier")

    async def _load_all(self, then: Callable[[], object]) -> None:
        await self.load_until(lambda: False)
        then()

    async def load_until(self, is_enough: Callable[[], bool]) -> None:
        """Load one earlier part after another until `is_enough()` is true or there are no more."""
        while not is_enough() and await self._follower.read_earlier():
            pass

    def trim(self) -> None:
        """Drop the earlier part of a session that has grown long, unless it is in use."""
        last = self._state.last_seq
        if last - self._state.first_seq > MAX_EVENTS and last > self._next_trim and self._can_drop(0):
            self._next_trim = last + RETRY
            self._start_worker(self._follower.let_go(self._can_drop), group="earlier")
