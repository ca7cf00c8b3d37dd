"""The engine: drives one session in a worker thread and serves front ends over a Unix socket.

It runs in `python -m workbench.engine`. While no front end is attached, it exits once the run ends or the agent needs
the user.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

from workbench.engine.front_end_server import FrontEndServer
from workbench.engine.front_ends import FrontEnd, FrontEnds
from workbench.engine.worker import Worker
from workbench.protocol.commands import Leave

if TYPE_CHECKING:
    from workbench.engine.broadcast import Broadcast
    from workbench.session.session_factory import OpenedSession

logger = logging.getLogger(__name__)
_FIRST_SCREEN = 20.0  # seconds a new engine waits for the screen that started it
_ARRIVAL = 0.1  # seconds in which a connection that has been made is noticed, before an engine without any other ends
_STEP_END = 1.8  # seconds an interrupted step may take before the tools are closed under it
_ENDED = "the agent process was ended by {}"
SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


class Server:
    """One session, its worker and its front ends; `serve` returns the exit code."""

    def __init__(
        self,
        opened: OpenedSession,
        screens: FrontEnds,
        broadcast: Broadcast,
        describe: Callable[[BaseException], str],
    ) -> None:
        self._opened = opened
        self._screens = screens
        self._broadcast = broadcast
        self._loop = asyncio.get_running_loop()
        self._worker = Worker(opened.session, self._rested, opened.fail, describe)
        opened.delegates.on_wait(self._rested)
        opened.session.watch.start(self._worker.wake)
        opened.session.unsaved_files.checks.is_offered = lambda: screens.checks_unsaved
        self._ended: asyncio.Future[int] = self._loop.create_future()
        self._reason = ""
        """What ends a run that has not ended by itself, unless it is the user."""
        self._is_expecting = True
        self._front_ends = FrontEndServer(opened, screens, broadcast, self)

    async def serve(self, listener: socket.socket) -> int:
        """Serve until no front end is attached and no work is left, or a signal arrives; return the exit code."""
        server = await self._front_ends.listen(listener)
        for number in SIGNALS:
            self._loop.add_signal_handler(number, self._end, 128 + number, _ENDED.format(number.name))
        self._worker.start()
        self._loop.call_later(_FIRST_SCREEN, self._stop_expecting)
        code = await self._ended
        server.close()
        await self._wind_down()
        return code

    async def _wind_down(self) -> None:
        self._worker.stop()
        if self._worker.is_busy and not self._opened.delegates.leave():
            self._opened.session.interrupt(self._reason)
        await asyncio.to_thread(self._worker.join, _STEP_END)
        # The events of closing it are for the screens too.
        self._opened.close()
        self._broadcast.flush()
        self._screens.close()
        await asyncio.sleep(0)

    def _end(self, code: int, reason: str = "") -> None:
        if not self._ended.done():
            logger.info("ending with code %d", code)
            self._reason = reason
            self._ended.set_result(code)

    def _rested(self) -> None:
        try:
            self._loop.call_soon_threadsafe(self._end_if_alone)
        except RuntimeError:
            return  # the loop is closed: the engine is already ending

    def _end_if_alone(self) -> None:
        if self._is_alone:
            self._loop.call_later(_ARRIVAL, self._end_if_still_alone)

    def _end_if_still_alone(self) -> None:
        if self._is_alone:
            self._end(0)

    @property
    def _is_alone(self) -> bool:
        """Whether no front end is attached, connecting or expected, and no work is left."""
        is_busy = self._worker.is_busy and not self._opened.delegates.can_rest
        return not (self._is_expecting or self._front_ends.arriving or len(self._screens) or is_busy)

    def _stop_expecting(self) -> None:
        self._is_expecting = False
        self._end_if_alone()

    @property
    def is_ending(self) -> bool:
        """Whether front ends that connect now start a new engine."""
        return self._ended.done()

    def wake(self) -> None:
        """Let the session continue."""
        self._worker.wake()

    def on_attach(self, screen: FrontEnd) -> None:
        """Wait no longer for the screen that started the engine, if this is one."""
        self._is_expecting &= screen.is_viewer

    def on_detach(self) -> None:
        """End if no front end is attached and no work is left."""
        self._end_if_alone()

    def on_leave(self, screen: FrontEnd, command: Leave) -> bool:
        """Detach a front end; return whether its connection stays open until the engine ends.

        A viewer never counts as the last front end: its departure does not end the engine.
        """
        screen.is_leaving = True
        is_last = not (screen.is_viewer or len(self._screens))
        stays = command.waits and is_last
        if not stays:
            self._screens.remove(screen)
        if command.stop and is_last:
            self._end(0)
        self._end_if_alone()
        return stays
