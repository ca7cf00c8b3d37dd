"""The engine: drives one session in a worker thread and serves front ends over a Unix socket.

It runs in `python -m workbench.engine`. While no front end is attached, it exits once the run ends or the agent needs
the user.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

from workbench.engine.front_ends import FrontEnd, FrontEnds
from workbench.engine.handlers import Context, handle
from workbench.engine.sockets import is_own, is_screen
from workbench.engine.worker import Worker
from workbench.errors import WorkbenchError
from workbench.protocol.codec import encode
from workbench.protocol.commands import (
    QUERIES,
    VERSION,
    Command,
    Hello,
    Leave,
    NoteWritten,
    Refused,
    RequestControl,
    UnsavedChecked,
    decode_command,
    decode_hello,
)

if TYPE_CHECKING:
    from workbench.engine.broadcast import Broadcast, Outgoing
    from workbench.session.session_factory import OpenedSession

logger = logging.getLogger(__name__)
LINE_LIMIT = 32 * 1024 * 1024
_FIRST_SCREEN = 20.0  # seconds a new engine waits for the screen that started it
_HELLO = 10.0
_ARRIVAL = 0.1  # seconds in which a connection that has been made is noticed, before an engine without any other ends
_OF_AN_AGENT = "this process belongs to an agent: only a screen that you started yourself may open this session"
_STEP_END = 1.2  # seconds an interrupted step may take before the tools are closed under it
_FROM_ALL = (NoteWritten, UnsavedChecked, *QUERIES)
"""Commands that a front end may send without being in control, unless it is a viewer."""
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
        opened.session.unsaved_files.is_offered = lambda: screens.checks_unsaved
        self._ended: asyncio.Future[int] = self._loop.create_future()
        self._is_expecting = True
        self._arriving = 0
        """The number of connections whose greeting is not complete; the engine must not end before they can send a
        command.
        """

    async def serve(self, listener: socket.socket) -> int:
        """Serve until no front end is attached and no work is left, or a signal arrives; return the exit code."""
        server = await asyncio.start_unix_server(self._attach, sock=listener, limit=LINE_LIMIT)
        for number in SIGNALS:
            self._loop.add_signal_handler(number, self._end, 128 + number)
        self._worker.start()
        self._loop.call_later(_FIRST_SCREEN, self._stop_expecting)
        code = await self._ended
        server.close()
        await self._wind_down()
        return code

    async def _wind_down(self) -> None:
        self._worker.stop()
        if self._worker.is_busy and not self._opened.delegates.leave():
            self._opened.session.interrupt()
        await asyncio.to_thread(self._worker.join, _STEP_END)
        # The events of closing it are for the screens too.
        self._opened.close()
        self._broadcast.flush()
        self._screens.close()
        await asyncio.sleep(0)

    def _end(self, code: int) -> None:
        if not self._ended.done():
            logger.info("ending with code %d", code)
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
        return not (self._is_expecting or self._arriving or len(self._screens) or is_busy)

    def _stop_expecting(self) -> None:
        self._is_expecting = False
        self._end_if_alone()

    async def _attach(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            hello = await self._admit(reader, writer)
            if hello is not None:
                await self._converse(reader, _front_end(writer, hello))
        except (OSError, ValueError, TimeoutError) as error:
            logger.info("a screen went away: %s", error)
        finally:
            writer.close()
            self._end_if_alone()

    async def _admit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Hello | None:
        """Return the greeting of a front end that may be served, or None.

        None means that the front end was refused, or that this engine is ending, so that the front end starts a new
        one.
        """
        self._arriving += 1
        try:
            hello = await self._greet(reader, writer)
        finally:
            self._arriving -= 1
        return None if self._ended.done() else hello

    async def _greet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Hello | None:
        connection = writer.get_extra_info("socket")
        if not is_own(connection):
            return None
        if not is_screen(connection):
            logger.warning("refused a process of an agent that connected as a screen")
            FrontEnd(writer, 0).send(Refused(reason=_OF_AN_AGENT))
            return None
        line = await asyncio.wait_for(reader.readline(), _HELLO)
        if not line:
            return None  # a probe of whether an engine is running
        hello = decode_hello(line)
        if hello.version == VERSION:
            return hello
        reason = f"the engine speaks version {VERSION}, the screen {hello.version}; close every screen of this session"
        FrontEnd(writer, 0).send(Refused(reason=reason))
        return None

    async def _converse(self, reader: asyncio.StreamReader, screen: FrontEnd) -> None:
        screen.send(Hello(seen=self._opened.last_seq, pid=os.getpid(), notices=self._opened.notices))
        self._broadcast.flush()
        screen.forward(_with_line(event) for event in self._opened.events(screen.last_seq))
        screen.forward([_with_line(self._opened.session.state)])
        self._screens.add(screen)
        self._is_expecting &= screen.is_viewer
        try:
            while line := await reader.readline():
                if not self._obey(screen, line):
                    return
        finally:
            self._screens.remove(screen)
            screen.stop_search()

    def _obey(self, screen: FrontEnd, line: bytes) -> bool:
        """Carry out the command in a line from a front end; return whether the connection stays open."""
        try:
            command = decode_command(line)
        except ValueError as error:
            screen.send(Refused(reason=f"not a command: {error}"))
            return True
        if isinstance(command, Leave):
            return self._leave(screen, command)
        try:
            self._carry_out(command, screen)
        except WorkbenchError as error:
            screen.send(Refused(reason=str(error)))
        except Exception as error:
            logger.exception("a command failed")
            screen.send(Refused(reason=f"that failed inside the engine: {type(error).__name__}: {error}"))
        self._worker.wake()
        return True

    def _carry_out(self, command: Command, screen: FrontEnd) -> None:
        if screen.is_viewer:
            raise WorkbenchError("read-only: this view of the session controls nothing")
        if isinstance(command, RequestControl):
            self._screens.grant_control(screen)
            return
        if not (self._screens.has_control(screen) or isinstance(command, _FROM_ALL)):
            raise WorkbenchError("read-only: another screen controls this session; /pen takes control")
        handle(command, Context(self._opened, screen))

    def _leave(self, screen: FrontEnd, command: Leave) -> bool:
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


def _front_end(writer: asyncio.StreamWriter, hello: Hello) -> FrontEnd:
    return FrontEnd(writer, hello.seen, is_viewer=hello.is_viewer, checks_unsaved=hello.checks_unsaved)


def _with_line(message: Outgoing) -> tuple[Outgoing, bytes]:
    return message, encode(message) + b"\n"
