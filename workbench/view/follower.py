"""Follows one session: folds what the link brings into the state and says, once a frame, what changed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

from workbench.client.client import Client, Disconnected, EngineNotice, Incoming
from workbench.client.history import History, Past
from workbench.client.threads import in_daemon
from workbench.errors import WorkbenchError
from workbench.view.earlier import begin_after, count_before, drop_before, folded, put_before, settled
from workbench.view.reducer import apply
from workbench.view.state import Changed, SessionState

if TYPE_CHECKING:
    from workbench.protocol.events import Event

FRAME = 1 / 30
"""Seconds between two repaints: what comes in between is shown together."""
_CHUNK = 500
_LONGEST = 30
"""Frames that a screen which is behind is waited for."""


class Follower:
    """One per session on screen; `shown(None)` means everything may have changed."""

    def __init__(
        self,
        link: Client,
        state: SessionState,
        shown: Callable[[Changed | None], None],
        is_behind: Callable[[], bool] = lambda: False,
        load_later: Callable[[], None] = lambda: None,
    ) -> None:
        """`load_later` loads, in a thread, what the front end needs only once there is a session.

        `is_behind`: whether the screen still mounts what it was shown; more then waits, which bounds its memory."""
        self._link = link
        self._state = state
        self._shown = shown
        self._is_behind = is_behind
        self._load_later = load_later
        self._past: Past | None = None
        self._reading = asyncio.Lock()

    async def run(self) -> None:
        """Read the history, then whatever comes, until the link is lost for good."""
        await self._read_history()
        self._shown(None)
        while self._take(await self._link.receive()):
            for _ in range(_LONGEST):
                await asyncio.sleep(FRAME)
                if not self._is_behind():
                    break

    @property
    def is_reading(self) -> bool:
        """Whether an older part is on its way."""
        return self._reading.locked()

    async def read_earlier(self) -> bool:
        """Show the part of the session just before what there is; whether there was one."""
        async with self._reading:
            past, state = self._past, self._state
            if past is None or state.first_seq <= 1:
                return False
            try:
                part = await in_daemon(lambda: folded(past.part(state.first_seq), state.actions_before))
            except WorkbenchError as error:
                self._past = None
                self._take([EngineNotice(str(error))])
                return False
            self._shown(put_before(state, part))
            return True

    async def let_go(self, may: Callable[[int], bool]) -> None:
        """Hold the end of a session that has grown long, and no more, if so many items `may` go now."""
        async with self._reading:
            past, state = self._past, self._state
            if past is None:
                return
            with suppress(WorkbenchError):
                start = await in_daemon(lambda: past.start(state.last_seq + 1))
                if start > state.first_seq and may(count_before(state, start)):
                    self._shown(drop_before(state, start))

    async def _read_history(self) -> None:
        events, chunk, earlier = await in_daemon(self._begin)
        if earlier is not None:
            begin_after(self._state, earlier)
        while chunk:  # never all of it at once: a long session is many megabytes, and keys are answered meanwhile
            for event in chunk:
                apply(self._state, event)
            chunk = await in_daemon(lambda: list(islice(events, _CHUNK)))

    def _begin(self) -> tuple[Iterator[Event], list[Event], SessionState | None]:
        """In a thread: let the engine be started, then load what showing a session needs, while it starts."""
        history = self._link.history()
        self._past = history.past if isinstance(history, History) else None
        events = iter(history)
        chunk = list(islice(events, _CHUNK))
        earlier = settled(history.digest) if isinstance(history, History) and history.digest else None
        self._load_later()
        return events, chunk, earlier

    def _take(self, messages: Sequence[Incoming]) -> bool:
        changed = Changed()
        goes_on = True
        for message in messages:
            changed.merge(apply(self._state, message))
            goes_on = goes_on and not (isinstance(message, Disconnected) and message.for_good)
        self._shown(changed)
        return goes_on
