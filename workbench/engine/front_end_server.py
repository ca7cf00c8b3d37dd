"""Serves the front ends of one session over its Unix socket: greets them, sends what they lack, and obeys them."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from typing import TYPE_CHECKING, Final, Protocol

from workbench.engine.front_ends import FrontEnd, FrontEnds
from workbench.engine.handlers import Context, handle
from workbench.engine.sockets import is_own, is_screen
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
LINE_LIMIT: Final = 32 * 1024 * 1024
_HELLO: Final = 10.0
_OF_AN_AGENT: Final = "this process belongs to an agent: only a screen that you started yourself may open this session"
_FROM_ALL: Final = (NoteWritten, UnsavedChecked, *QUERIES)
"""Commands that a front end may send without being in control, unless it is a viewer."""


class SessionProcess(Protocol):
    """What drives the session that is served; all methods are called in the event loop's thread."""

    @property
    def is_ending(self) -> bool:
        """Whether front ends that connect now are not served any more."""

    def wake(self) -> None:
        """Let the session continue: a command may have given it work."""

    def on_attach(self, screen: FrontEnd) -> None:
        """Note that a front end is attached."""

    def on_detach(self) -> None:
        """Note that a connection has ended."""

    def on_leave(self, screen: FrontEnd, command: Leave) -> bool:
        """Detach a front end; return whether its connection stays open."""


class FrontEndServer:
    """Serves front ends in the event loop in which it is created."""

    def __init__(
        self, opened: OpenedSession, screens: FrontEnds, broadcast: Broadcast, process: SessionProcess
    ) -> None:
        self._opened = opened
        self._screens = screens
        self._broadcast = broadcast
        self._process = process
        self.arriving = 0
        """The number of connections whose greeting is not complete; the process must not end before they can send a
        command.
        """

    async def listen(self, listener: socket.socket) -> asyncio.Server:
        """Accept connections from now on, until the server that is returned is closed."""
        return await asyncio.start_unix_server(self._attach, sock=listener, limit=LINE_LIMIT)

    async def _attach(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            hello = await self._admit(reader, writer)
            if hello is not None:
                await self._converse(reader, _front_end(writer, hello))
        except (OSError, ValueError, TimeoutError) as error:
            logger.info("a screen went away: %s", error)
        finally:
            writer.close()
            self._process.on_detach()

    async def _admit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Hello | None:
        """Return the greeting of a front end that may be served, or None.

        None means that the front end was refused, or that this process is ending, so that the front end starts a new
        engine.
        """
        self.arriving += 1
        try:
            hello = await self._greet(reader, writer)
        finally:
            self.arriving -= 1
        return None if self._process.is_ending else hello

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
        self._process.on_attach(screen)
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
            return self._process.on_leave(screen, command)
        try:
            self._carry_out(command, screen)
        except WorkbenchError as error:
            screen.send(Refused(reason=str(error)))
        except Exception as error:
            logger.exception("a command failed")
            screen.send(Refused(reason=f"that failed inside the engine: {type(error).__name__}: {error}"))
        self._process.wake()
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


def _front_end(writer: asyncio.StreamWriter, hello: Hello) -> FrontEnd:
    return FrontEnd(writer, hello.seen, is_viewer=hello.is_viewer, checks_unsaved=hello.checks_unsaved)


def _with_line(message: Outgoing) -> tuple[Outgoing, bytes]:
    return message, encode(message) + b"\n"
