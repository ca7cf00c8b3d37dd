"""Lets the user open the session of a running attempt: screens connect to its socket as to that of an engine."""

from __future__ import annotations

import asyncio
import logging
import threading
from pathlib import Path
from typing import Final

from workbench.batch.answer_wait import AnswerWait
from workbench.engine.broadcast import Broadcast
from workbench.engine.front_end_server import FrontEndServer
from workbench.engine.front_ends import FrontEnd, FrontEnds
from workbench.engine.sockets import listen
from workbench.errors import WorkbenchError
from workbench.files.state_files import discard_file
from workbench.protocol.commands import Leave
from workbench.protocol.events import Event
from workbench.protocol.live import LiveEvent
from workbench.session.session_factory import OpenedSession

logger = logging.getLogger(__name__)
_LAST_MESSAGES: Final = 1.0
"""How long screens may take to get what they still lack when the attempt ends, in seconds."""


class AttemptScreens:
    """The screens of one attempt, served in a thread. A screen that leaves never ends the attempt."""

    def __init__(self, wait: AnswerWait) -> None:
        self._wait = wait
        self._loop = asyncio.new_event_loop()
        self._screens = FrontEnds()
        self._broadcast = Broadcast(self._loop, self._screens.forward)
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True, name="attempt-screens")
        self._thread.start()
        self._server: asyncio.Server | None = None
        self._path: Path | None = None
        self._is_ending = False

    def on_event(self, event: Event) -> None:
        """Pass an event of the session to the screens."""
        self._broadcast.event(event)

    def on_live(self, event: LiveEvent) -> None:
        """Pass a piece of a stream to the screens."""
        self._broadcast.live(event)

    def serve(self, opened: OpenedSession, path: Path) -> None:
        """Accept screens of the session at `path` from now on; if that is impossible, the attempt runs without."""
        try:
            listener = listen(path)
        except (OSError, WorkbenchError) as error:
            logger.warning("the attempt cannot be opened: %s", error)
            return
        front_ends = FrontEndServer(opened, self._screens, self._broadcast, self)
        self._path = path
        self._server = asyncio.run_coroutine_threadsafe(front_ends.listen(listener), self._loop).result()

    def close(self) -> None:
        """Send the screens what they still lack, and disconnect them."""
        self._is_ending = True
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end(self) -> None:
        if self._server is not None and self._path is not None:
            self._server.close()
            discard_file(self._path)
        self._broadcast.flush()
        self._screens.close()
        if connections := asyncio.all_tasks() - {asyncio.current_task()}:
            _, late = await asyncio.wait(connections, timeout=_LAST_MESSAGES)
            for each in late:
                each.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    @property
    def is_ending(self) -> bool:
        """Whether the attempt has ended."""
        return self._is_ending

    def wake(self) -> None:
        """Let the attempt continue with what the user has sent."""
        self._wait.wake()

    def on_attach(self, screen: FrontEnd) -> None:
        """Let questions wait for the user."""
        self._wait.set_users(len(self._screens))

    def on_detach(self) -> None:
        """Let questions wait no longer if this was the last screen."""
        self._wait.set_users(len(self._screens))

    def on_leave(self, screen: FrontEnd, command: Leave) -> bool:
        """Let the connection of a screen that leaves be closed, without ending the attempt."""
        return False
