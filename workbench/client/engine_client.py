"""The client of one engine: an inbox for the event loop, and two threads between it and the connection."""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from workbench.client.client import CommandRefused, Disconnected, EngineNotice, EngineStalled, EventHistory, Incoming
from workbench.client.engine_connection import EngineConnection, EngineGone
from workbench.client.log_reader import FilePast, read_history
from workbench.client.threads import start_watched
from workbench.engine.launch import Launch
from workbench.engine.sockets import forbid_tracing, is_stopped
from workbench.errors import WorkbenchError
from workbench.protocol.commands import Command, Leave, Message, Refused
from workbench.protocol.events import Event
from workbench.protocol.live import Notice
from workbench.session.session_names import session_path
from workbench.session.storage.cleanup import has_no_event
from workbench.session.storage.store import Store

if TYPE_CHECKING:
    from workbench.session.storage.paging import Branch


class Inbox:
    """A queue into which any thread puts messages, and from which one coroutine receives them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._messages: list[Incoming] = []
        self._waiting: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None

    def put(self, messages: Iterable[Incoming]) -> None:
        """Add messages and wake the waiting coroutine."""
        with self._lock:
            self._messages.extend(messages)
            waiting = self._waiting
        if waiting is not None:
            loop, event = waiting
            with suppress(RuntimeError):  # the screen has ended
                loop.call_soon_threadsafe(event.set)

    async def receive_all(self) -> list[Incoming]:
        """Wait for at least one message and return all of them."""
        event = asyncio.Event()
        with self._lock:
            self._waiting = (asyncio.get_running_loop(), event)
            if self._messages:
                event.set()
        await event.wait()
        with self._lock:
            taken, self._messages = self._messages, []
            self._waiting = None
        return taken


class _StallWatch:
    """Reports when the engine is stopped (SIGSTOP, a debugger), which looks like thinking, and when it continues."""

    def __init__(self, pid: int, inbox: Inbox) -> None:
        self._pid = pid
        self._inbox = inbox
        self._seconds = 0
        """The number of checks in a row that have found the engine stopped."""

    def check(self) -> None:
        """Check whether the engine is stopped; the second such check in a row reports it."""
        if not is_stopped(self._pid):
            self.end()
            return
        self._seconds += 1
        if self._seconds == _STALL_CHECKS:
            self._inbox.put([EngineStalled(_STALLED.format(self._pid))])

    def end(self) -> None:
        """Record that the engine responds, and report it if a stall was reported."""
        if self._seconds >= _STALL_CHECKS:
            self._inbox.put([EngineStalled("")])
        self._seconds = 0


logger = logging.getLogger(__name__)
_STALL_CHECKS = 2
_VIEWER = "Read-only: this view controls nothing"
_STALLED = "The agent process was stopped and does not respond. It continues with: kill -CONT {}"
_GONE = "The agent process stopped. Your next answer or message restarts it"
_ENDED = "The attempt has ended"
_PARTING = 1.0
_FAULT = "The connection to the engine failed inside ohw ({}); what you send next connects again"


class EngineClient:
    """One session of an engine.

    The first call of `history` starts the engine if none runs, and a command restarts one that has ended; a viewer
    starts none.
    """

    def __init__(self, launch: Launch, *, is_viewer: bool = False) -> None:
        """With `is_viewer`, every command is refused, and the client never controls the session."""
        forbid_tracing()
        self._is_viewer = is_viewer
        self._commands: queue.SimpleQueue[Command | None] = queue.SimpleQueue()
        self._launch = launch
        self._path = session_path(launch.locations, launch.session_id)
        self._last_seq = 0
        self._inbox = Inbox()
        self._connection: EngineConnection | None = None
        self._closing = False
        self._noticed: set[str] = set()
        self._parting = Leave()
        self._worker: threading.Thread | None = None
        self._reader: threading.Thread | None = None

    def history(self) -> Iterable[Event | Branch]:
        """Return the stored events (of a long log, only the last part).

        The first call also starts the engine, in the background. Raises StoreError.
        """
        store = None
        if not self._launch.is_new or self._worker is not None:
            store = Store.open(self._path, readonly=True)
            self._last_seq = max(self._last_seq, store.last_seq)
        if self._worker is None:
            self._worker = start_watched(self._run_commands, self._died, "client-commands")
        return read_history(store) if store else EventHistory((), FilePast(self._path))

    def send(self, command: Command) -> None:
        """Queue a command; a thread delivers it."""
        if self._is_viewer:
            self._inbox.put([CommandRefused(_VIEWER)])
        else:
            self._commands.put(command)

    async def receive(self) -> Sequence[Incoming]:
        """Wait for the next messages from the engine, or the message that it has ended."""
        return await self._inbox.receive_all()

    def close(self, *, stop: bool = False) -> None:
        """Leave once all commands are delivered; wait for that for at most a second."""
        self._parting = Leave(stop=stop)
        self._commands.put(None)
        if self._worker is not None:
            self._worker.join(_PARTING)
        self._closing = True

    def _run_commands(self) -> None:
        """Run the command thread: connect, then deliver every command; a failed command does not end the thread."""
        self._carry(None)
        while (command := self._commands.get()) is not None:
            self._carry(command)
        self._closing = True
        if self._connection is not None:
            self._leave(self._connection)

    def _died(self, reason: str) -> None:
        """Close the connection, and report to the user that this client failed with an unexpected exception, a bug."""
        connection, self._connection = self._connection, None
        if not self._closing:
            self._inbox.put([Disconnected(_FAULT.format(reason))])
        # The reader then reports that the engine has stopped; the reason comes first.
        if connection is not None:
            connection.close()

    def _carry(self, command: Command | None) -> None:
        """Deliver one command, if necessary to a new engine; None only connects. Failures are
        reported, never raised.
        """
        try:
            self._deliver_or_restart(command)
        except Exception as error:
            logger.exception("a command was not delivered")
            self._died(f"{type(error).__name__}: {error}")

    def _deliver_or_restart(self, command: Command | None) -> None:
        try:
            self._deliver(command)
        except EngineGone:
            try:
                self._connection = None
                self._deliver(command)  # a new engine
            except WorkbenchError as error:
                self._inbox.put([Disconnected(str(error))])
        except WorkbenchError as error:
            self._inbox.put([Disconnected(str(error))])

    def _deliver(self, command: Command | None) -> None:
        connection = self._connection or self._connect()
        if command is not None:
            connection.send_command(command)

    def _connect(self) -> EngineConnection:
        # An engine that was killed while it created the file has left one without events.
        is_new = self._launch.is_new and (not self._path.exists() or has_no_event(self._path))
        launch = replace(self._launch, is_new=is_new)
        connection = EngineConnection.open(launch, last_seq=self._last_seq, is_viewer=self._is_viewer)
        self._connection = connection
        # The flags for mode, model and step limit apply once: a restarted engine keeps what was chosen since.
        from_flags = tuple(name for name in launch.settings.from_flags if name not in ("mode", "model", "max_steps"))
        self._launch = replace(self._launch, settings=replace(launch.settings, from_flags=from_flags))
        if fresh := [text for text in connection.notices if text not in self._noticed]:
            self._inbox.put([EngineNotice(text) for text in fresh])
            self._noticed.update(fresh)
        died = partial(self._reader_died, connection)
        self._reader = start_watched(partial(self._read, connection), died, "client-reader")
        return connection

    def _read(self, connection: EngineConnection) -> None:
        """Run the reader thread of one connection."""
        try:
            stall = _StallWatch(connection.engine_pid, self._inbox)
            while True:
                messages = connection.receive(stall.check)
                stall.end()
                self._inbox.put([self._taken(message) for message in messages])
        except EngineGone:
            self._lost(connection, _GONE if self._launch.starts_engine else _ENDED)
        except (ValueError, KeyError):
            connection.close()
            self._lost(connection, "Version mismatch with the running agent process; reopen the session")

    def _reader_died(self, connection: EngineConnection, reason: str) -> None:
        self._lost(connection, _FAULT.format(reason))

    def _lost(self, connection: EngineConnection, reason: str) -> None:
        if self._connection is connection:
            self._connection = None
        if not self._closing:
            is_end = reason == _ENDED
            self._inbox.put([Disconnected(reason, for_good=not self._launch.starts_engine, is_end=is_end)])
            connection.close()

    def _taken(self, message: Message) -> Incoming:
        if isinstance(message, Refused):
            return CommandRefused(message.reason)
        if isinstance(message, Notice):
            return EngineNotice(message.text)
        self._last_seq = max(self._last_seq, getattr(message, "seq", 0))
        return message

    def _leave(self, connection: EngineConnection) -> None:
        try:
            connection.send_command(self._parting)
            connection.finish()
            # An engine that cannot write to a connection any more does not read from it either, so it closes this one
            # first. Otherwise the last commands could be lost.
            if self._reader is not None:
                self._reader.join(_PARTING)
        except EngineGone:
            pass  # the engine disconnected first
        finally:
            connection.close()
