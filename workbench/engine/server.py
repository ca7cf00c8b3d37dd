"""The engine: drives one session in a worker thread and speaks with its screens over a Unix socket.

Runs inside `python -m workbench.engine`. Without any screen it finishes the run, or stops at the
next question, and ends.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
from functools import partial
from typing import TYPE_CHECKING

from pydantic import ValidationError

from workbench.engine.asking_prompt import ask_prompt
from workbench.engine.screens import Screen, Screens
from workbench.engine.sockets import is_own, is_screen
from workbench.engine.worker import Worker
from workbench.errors import WorkbenchError
from workbench.protocol.commands import (
    COMMAND,
    HELLO,
    VERSION,
    AllowAlways,
    Answer,
    AskPrompt,
    Command,
    Compact,
    Decide,
    Hello,
    Interrupt,
    Leave,
    Refused,
    Restore,
    RunCommand,
    Send,
    Set,
    TakeBack,
    Withdraw,
    from_line,
    to_line,
)
from workbench.protocol.live import EngineState
from workbench.session.acting.always import Always
from workbench.settings_check import NEVER

if TYPE_CHECKING:
    from workbench.engine.broadcast import Broadcast
    from workbench.session.acting.server_asks import ServerQuestion
    from workbench.session.opening import OpenedSession
    from workbench.session.session import Session

logger = logging.getLogger(__name__)
LINE_LIMIT = 32 * 1024 * 1024
_FIRST_SCREEN = 20.0  # seconds a new engine waits for the screen that started it
_HELLO = 10.0
_OF_AN_AGENT = "this process belongs to an agent: only a screen that you started yourself may open this session"
_STEP_END = 1.2  # seconds an interrupted step may take before the tools are closed under it
SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


class Server:
    """One session, its worker and its screens; `serve` returns the exit code."""

    def __init__(self, opened: OpenedSession, screens: Screens, broadcast: Broadcast) -> None:
        self._opened = opened
        self._screens = screens
        self._broadcast = broadcast
        self._loop = asyncio.get_running_loop()
        self._worker = Worker(opened.session, self._rested, opened.fail)
        opened.delegates.on_wait = self._rested
        self._asks = opened.server_asks
        if self._asks is not None:
            self._asks.has_person = True
        self._ended: asyncio.Future[int] = self._loop.create_future()
        self._is_expecting = True

    async def serve(self, listener: socket.socket) -> int:
        """Until nobody watches and nothing is left to do, or a signal comes."""
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
            return  # the loop is closed: the engine ends already

    def _end_if_alone(self) -> None:
        is_busy = self._worker.is_busy and not self._opened.delegates.waiting
        if not len(self._screens) and not self._is_expecting and not is_busy:
            self._end(0)

    def _stop_expecting(self) -> None:
        self._is_expecting = False
        self._end_if_alone()

    async def _attach(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            hello = await self._greet(reader, writer)
            if hello is not None:
                await self._converse(reader, Screen(writer, hello.seen))
        except (OSError, ValueError, TimeoutError) as error:
            logger.info("a screen went away: %s", error)
        finally:
            writer.close()
            self._end_if_alone()

    async def _greet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Hello | None:
        connection = writer.get_extra_info("socket")
        if not is_own(connection):
            return None
        if not is_screen(connection):
            logger.warning("refused a process of an agent that wanted to be a screen")
            Screen(writer, 0).say(Refused(reason=_OF_AN_AGENT))
            return None
        line = await asyncio.wait_for(reader.readline(), _HELLO)
        if not line:
            return None  # somebody looked whether an engine is there
        hello = from_line(HELLO, line)
        if hello.version == VERSION:
            return hello
        reason = f"the engine speaks version {VERSION}, the screen {hello.version}; close every screen of this session"
        Screen(writer, 0).say(Refused(reason=reason))
        return None

    async def _converse(self, reader: asyncio.StreamReader, screen: Screen) -> None:
        screen.say(Hello(seen=self._opened.last_seq, pid=os.getpid(), notices=self._opened.notices))
        screen.give((event, to_line(event)) for event in self._opened.events(screen.seen))
        screen.give([_with_line(self._opened.session.state)])
        self._screens.add(screen)
        self._is_expecting = False
        try:
            while line := await reader.readline():
                if not self._obey(screen, line):
                    return
        finally:
            self._screens.remove(screen)

    def _obey(self, screen: Screen, line: bytes) -> bool:
        try:
            command = from_line(COMMAND, line)
            if isinstance(command, Leave):
                self._leave(screen, command)
                return False
            if not self._screens.has_pen(screen):
                raise WorkbenchError("another screen of this session is in charge; close it to take over")
            if isinstance(command, AskPrompt):
                ask_prompt(self._opened.servers, command, screen)
            else:
                self._carry_out(command)
        except ValidationError as error:
            screen.say(Refused(reason=f"not a command: {error.errors()[0]['msg']}"))
        except WorkbenchError as error:
            screen.say(Refused(reason=str(error)))
        except Exception as error:
            logger.exception("a command failed")
            screen.say(Refused(reason=f"that failed inside the engine: {type(error).__name__}: {error}"))
        self._worker.wake()
        return True

    def _leave(self, screen: Screen, command: Leave) -> None:
        self._screens.remove(screen)
        if command.stop and not len(self._screens):
            self._end(0)

    def _carry_out(self, command: Command) -> None:
        session = self._opened.session
        match command:
            case Send(text=text, mentions=mentions):
                session.send(text, mentions)
            case Decide() | AllowAlways() | Answer():
                self._settle_one(command)
            case Interrupt() | Compact() | TakeBack() | Restore() | RunCommand() | Withdraw():
                _order(command, session)
            case Set():
                if command.mode == NEVER and not command.confirmed:
                    raise WorkbenchError("this mode never asks: it has to be confirmed")
                session.set(**command.model_dump(exclude={"type", "confirmed"}))
                if command.mode is not None:
                    self._opened.delegates.set_mode(command.mode)

    def _settle_one(self, command: Decide | AllowAlways | Answer) -> None:
        """What the person said about an action: of the session, of a sub-agent, or a question of a server's."""
        session, give = self._opened.session, partial(_settle, command)
        if self._asks is not None and self._asks.command(command.action_id, give):
            return
        if not self._opened.delegates.command(command.action_id, give):
            give(session, command.action_id)
        elif isinstance(command, AllowAlways) and command.scope == "session":
            session.set(rule=command.rule)  # what is allowed for a sub-agent is allowed for its parent


def _order(command: Interrupt | Compact | TakeBack | Restore | RunCommand | Withdraw, session: Session) -> None:
    """What the person wants of the session itself."""
    match command:
        case Interrupt():
            session.interrupt()
        case Compact(undo=undo):
            session.compact(undo=undo)
        case RunCommand(command=text):
            session.own.add(text)
        case Withdraw(message=seq):
            session.messages.withdraw(seq)
        case TakeBack(files=files):
            session.files.take_back(files)
        case Restore(copy_id=copy_id):
            session.files.restore(copy_id)


def _settle(command: Decide | AllowAlways | Answer, session: Session | ServerQuestion, action_id: str) -> None:
    """What the person said about an action, to the session whose it is, or to the question of a server's."""
    if isinstance(command, Answer):
        session.answer(action_id, command.text)
        return
    if isinstance(command, AllowAlways):
        always = Always(command.rule, command.scope)
        session.decide(action_id, "approved", fingerprint=command.fingerprint, always=always)
        return
    session.decide(
        action_id,
        command.verdict,
        fingerprint=command.fingerprint,
        note=command.note,
        edited=command.edited,
        hunks=command.hunks,
        written=command.written,
    )


def _with_line(message: EngineState) -> tuple[EngineState, bytes]:
    return message, to_line(message)
