"""The client of a session on another machine: copies the log to this machine, and reconnects when the connection is
lost.
"""

from __future__ import annotations

import logging
import queue
import secrets
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from workbench.client.client import (
    CommandRefused,
    Disconnected,
    EngineNotice,
    EngineStalled,
    Incoming,
    Reconnected,
)
from workbench.client.engine_client import Inbox
from workbench.client.engine_connection import EngineGone
from workbench.client.log_reader import read_history
from workbench.client.ssh import SshFailed, SshLink, open_link
from workbench.client.ssh_url import SshUrl
from workbench.client.threads import start_watched
from workbench.config.locations import Locations
from workbench.errors import WorkbenchError
from workbench.protocol.commands import (
    QUERIES,
    ChangeSettings,
    Command,
    Decide,
    Leave,
    Message,
    NoteWritten,
    Refused,
    SendMessage,
)
from workbench.protocol.event_base import EventBase
from workbench.protocol.events import ActionDecided, DelegateStep, SettingsChanged, UserMessage
from workbench.protocol.live import Notice
from workbench.protocol.remote import OpenRequest
from workbench.session.session_names import new_id, state_directory
from workbench.session.storage.mirror import Mirror
from workbench.session.storage.store import Store
from workbench.text import well_formed

if TYPE_CHECKING:
    from workbench.protocol.events import Event
    from workbench.session.storage.paging import Branch

logger = logging.getLogger(__name__)
_PARTING = 1.0
_FIRST_DELAY = 0.05
_DELAYS = ((60.0, 0.15), (600.0, 1.0), (float("inf"), 5.0))
"""The longest delay between two attempts to reconnect, in seconds, each with the time since the connection was lost
until which it applies.
"""
_RESTART = 30.0
"""Seconds that a command waits for an engine that is being restarted."""
_LOST = "Connection to {} lost, reconnecting ({})"
_GONE = "The agent process on {} stopped. Your next answer or message restarts it"
_NOT_SENT = "Not sent: there is no connection to {}"
_DOUBTFUL = "What you sent last did not arrive on {}; send it again"


@dataclass(frozen=True)
class RemoteSession:
    """A session on another machine, by the URL of its directory there."""

    url: SshUrl
    id: str
    screen: str = field(default_factory=lambda: secrets.token_hex(16))
    """An ID of this screen: on the other machine, its next connection replaces the previous one."""
    has_user: bool = True
    """Whether a user can answer what a running call asks."""

    def open(self, last_seq: int, flags: Mapping[str, str], *, may_ask: bool) -> SshLink:
        """Connect to the session, which then sends its events after `last_seq`.

        With `may_ask`, ssh may ask for passwords on the terminal. Raises SshFailed.
        """
        request = OpenRequest(
            screen=self.screen, session=self.id, last_seq=last_seq, flags=dict(flags), has_user=self.has_user
        )
        link = open_link(self.url, request, may_ask=may_ask)
        if link.opened.last_seq < last_seq:
            link.connection.close()
            raise SshFailed(
                f"the session {self.id} on {self.url.host} has fewer events than the copy here: it was set back there; "
                "delete the copy (Ctrl+O), then open it by its URL"
            )
        return link


def new_session(
    locations: Locations, url: SshUrl, hint: str, flags: Mapping[str, str], *, may_ask: bool, has_user: bool = True
) -> RemoteClient:
    """Start a session in a directory on another machine; its ID is derived from the hint or, if empty, the directory.

    With `may_ask`, ssh may ask for passwords on the terminal. Raises WorkbenchError.
    """
    name = new_id(hint or url.path.rstrip("/").rpartition("/")[2])
    return _opened(locations, url, "new", name, flags, may_ask=may_ask, has_user=has_user)


def last_session_at(locations: Locations, url: SshUrl, flags: Mapping[str, str], *, may_ask: bool) -> RemoteClient:
    """Open the last session of a directory on another machine. Raises WorkbenchError."""
    return _opened(locations, url, "last", "", flags, may_ask=may_ask)


def named_session(
    locations: Locations, url: SshUrl, name: str, flags: Mapping[str, str], *, may_ask: bool
) -> RemoteClient:
    """Open the session on another machine whose ID is `name` or starts with it uniquely. Raises WorkbenchError."""
    return _opened(locations, url, "named", name, flags, may_ask=may_ask)


def copied_session(
    locations: Locations, session_id: str, origin: str, flags: Mapping[str, str], *, may_ask: bool
) -> RemoteClient:
    """Open a remote session that has a copy on this machine; `origin` is its URL.

    If its machine cannot be reached, the client shows the copy until it can connect. Raises WorkbenchError.
    """
    session, mirror = RemoteSession(SshUrl.parse(origin), session_id), Mirror.open(locations, session_id, origin)
    try:
        link: SshLink | SshFailed = session.open(mirror.last_seq, flags, may_ask=may_ask)
    except SshFailed as failure:
        link = failure
    return RemoteClient(session, mirror, link, state_directory(locations, session_id))


def _opened(
    locations: Locations,
    url: SshUrl,
    how: Literal["new", "last", "named"],
    name: str,
    flags: Mapping[str, str],
    *,
    may_ask: bool,
    has_user: bool = True,
) -> RemoteClient:
    screen = secrets.token_hex(16)
    request = OpenRequest(
        screen=screen, directory=url.path, open=how, session=name, flags=dict(flags), has_user=has_user
    )
    link = open_link(url, request, may_ask=may_ask)
    session = RemoteSession(url.at(link.opened.workspace), link.opened.session, screen, has_user)
    try:
        mirror = Mirror.open(locations, session.id, str(session.url))
    except WorkbenchError:
        link.connection.close()
        raise
    return RemoteClient(session, mirror, link, state_directory(locations, session.id))


class RemoteClient:
    """One session on another machine. Each event is written to the local copy before the front end receives it.

    While the connection is lost, the client tries to reconnect, and commands are refused.
    """

    def __init__(
        self, session: RemoteSession, mirror: Mirror, link: SshLink | SshFailed, state_directory: Path
    ) -> None:
        """`link` is the connection, or the error if connecting failed; then the copy is shown, and the client retries.

        `state_directory` is where the screen keeps its files about the session.
        """
        self.session = session
        self._state_directory = state_directory
        self._mirror = mirror
        self._failure = link if isinstance(link, SshFailed) else None
        self._link = None if isinstance(link, SshFailed) else link
        self._goal = self._link.opened.last_seq if self._link else 0
        """The `seq` of the session's last event when the current connection was made."""
        self._link_lock = threading.Lock()
        """Held while a command is sent or refused, so that no refusal is reported after the `Reconnected` that
        invalidates it.
        """
        self._inbox = Inbox()
        self._commands: queue.SimpleQueue[Command | None] = queue.SimpleQueue()
        self._caught_up, self._is_up, self._hurry = threading.Event(), threading.Event(), threading.Event()
        self._is_gone = self._closing = False
        """`_is_gone`: the engine has ended, not only the connection. `_closing`: the front end has disconnected."""
        self._noticed: set[str] = set()
        self._unanswered = Unanswered()
        self._parting = Leave()
        self._threads: list[threading.Thread] = []

    def history(self) -> Iterable[Event | Branch]:
        """Return the events of the copy, once it has all that the session had when it was opened.

        Without a connection, the events that the copy has are returned. Raises StoreError.
        """
        if not self._threads:
            if self._link is not None:
                self._link.leave_terminal()
            self._threads = [
                start_watched(self._follow_connections, self._died, "remote-reader"),
                start_watched(self._send_commands, self._died, "remote-commands"),
            ]
        self._caught_up.wait()
        return read_history(Store.open(self._mirror.path, readonly=True))

    def send(self, command: Command) -> None:
        """Queue a command; a thread sends it, or refuses it while there is no connection.

        Queries are dropped, not refused, while there is none. `NoteWritten` is never sent: it is about files of this
        machine.
        """
        # The files of settings that a screen writes are on this machine.
        is_query = isinstance(command, QUERIES)
        if not isinstance(command, NoteWritten) and not (is_query and self._link is None):
            self._commands.put(command)

    async def receive(self) -> Sequence[Incoming]:
        """Wait for the next messages from the engine, or about the connection."""
        return await self._inbox.receive_all()

    def close(self, *, stop: bool = False) -> None:
        """Disconnect once all commands are sent; return after at most a second."""
        self._parting = Leave(stop=stop)
        self._commands.put(None)
        if not self._threads:
            self._threads = [start_watched(self._send_commands, self._died, "remote-commands")]
        until = time.monotonic() + _PARTING
        for thread in reversed(self._threads):
            thread.join(max(0.0, until - time.monotonic()))
        if not self._threads[0].is_alive():
            self._mirror.close(self._state_directory)

    def _died(self, reason: str) -> None:
        self._inbox.put([Disconnected(f"The connection failed inside ohw ({reason}); open the session again")])
        self._caught_up.set()

    # The thread that reads.

    def _follow_connections(self) -> None:
        """Receive from one connection after another, until the front end disconnects."""
        failure = self._failure
        while True:
            if self._link is not None:
                self._show_notices(self._link)
                failure = self._follow(self._link)
            if self._closing or not self._connect_again(failure):
                return

    def _follow(self, link: SshLink) -> SshFailed | None:
        """Receive messages until the connection ends; return the reason, or None if the engine has ended."""
        self._catch_up([])
        self._is_up.set()
        try:
            while True:
                self._deliver(link.connection.receive())
        except EngineGone:
            failure = link.failure()
        except (ValueError, KeyError):
            failure = SshFailed(f"ohw on {self.session.url.host} has another version; install the same on both")
        except WorkbenchError as error:
            failure = SshFailed(f"the copy cannot be written: {error}")
        link.connection.close()
        self._link = None
        self._is_up.clear()
        return failure

    def _deliver(self, messages: Sequence[Message]) -> None:
        """Write events to the copy, then pass on all messages except events that the front end still reads from the
        copy.
        """
        events = [message for message in messages if isinstance(message, EventBase)]
        is_read_from_copy = not self._caught_up.is_set()
        if events:
            self._mirror.append(events)
        self._unanswered.note(events, is_refused=any(isinstance(message, Refused) for message in messages))
        self._inbox.put(
            [_incoming(message) for message in messages if not (isinstance(message, EventBase) and is_read_from_copy)]
        )
        self._catch_up(messages)

    def _catch_up(self, messages: Sequence[Message]) -> None:
        """Once the copy is complete, allow the history to be read, and report commands that were
        lost with a connection.
        """
        if self._mirror.last_seq >= self._goal:
            self._caught_up.set()
            if self._unanswered.lost(is_answer=bool(messages)):
                self._inbox.put([CommandRefused(_DOUBTFUL.format(self.session.url.host), repeat="now")])

    def _connect_again(self, failure: SshFailed | None) -> bool:
        """Report that the connection is lost, and reconnect; return False if the front end disconnects meanwhile."""
        self._unanswered.doubt()
        self._caught_up.set()
        host, delay, began = self.session.url.host, _FIRST_DELAY, time.monotonic()
        self._report(failure)
        while not self._closing:
            is_waiting = failure is None or failure.is_final
            self._hurry.wait(None if is_waiting else delay)
            self._hurry.clear()
            if self._closing:
                break
            try:
                link = self.session.open(self._mirror.last_seq, {}, may_ask=False)
            except SshFailed as error:
                if failure is None or (error.is_final and str(error) != str(failure)):
                    self._report(error)
                failure = error
                delay = min(2 * delay, _longest_delay(time.monotonic() - began))
                continue
            self._goal = link.opened.last_seq
            with self._link_lock:
                self._link, self._is_gone = link, False
                self._inbox.put([Reconnected(f"Connected to {host} again")])
            return True
        return False

    def _report(self, failure: SshFailed | None) -> None:
        host = self.session.url.host
        self._is_gone = failure is None
        if failure is None:
            self._inbox.put([Disconnected(_GONE.format(host))])
        elif failure.is_final:
            self._inbox.put([Disconnected(f"No connection to {host}, the session is read-only: {failure}")])
        else:
            self._inbox.put([EngineStalled(_LOST.format(host, failure))])

    def _show_notices(self, link: SshLink) -> None:
        if fresh := [text for text in link.opened.notices if text not in self._noticed]:
            self._inbox.put([EngineNotice(text) for text in fresh])
            self._noticed.update(fresh)

    # The thread that sends.

    def _send_commands(self) -> None:
        """Send every command in order until the front end disconnects; a refusal is reported, never raised."""
        while (command := self._commands.get()) is not None:
            if self._is_gone:
                # The next command starts the engine again.
                self._hurry.set()
                self._is_up.wait(_RESTART)
            self._send(command)
        self._closing = True
        link = self._link
        if link is not None:
            self._send(self._parting)
            link.connection.finish()
        self._hurry.set()

    def _send(self, command: Command) -> None:
        with self._link_lock:
            self._send_over(self._link, command)

    def _send_over(self, link: SshLink | None, command: Command) -> None:
        try:
            if link is None:
                raise EngineGone(_NOT_SENT.format(self.session.url.host))
            if not isinstance(command, QUERIES):
                self._unanswered.add(command)
            link.connection.send_command(command)
        except EngineGone:
            if isinstance(command, QUERIES):
                return
            self._unanswered.discard(command)
            self._hurry.set()
            self._inbox.put([CommandRefused(_NOT_SENT.format(self.session.url.host), repeat="reconnected")])


def _longest_delay(seconds: float) -> float:
    return next(delay for until, delay in _DELAYS if seconds < until)


class Unanswered:
    """The commands that the engine has not answered yet: if the connection breaks, they may not have arrived."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sent: list[Command] = []
        self._doubtful: list[Command] = []

    def add(self, command: Command) -> None:
        """Record a command that is about to be sent."""
        with self._lock:
            self._sent.append(command)

    def discard(self, command: Command) -> None:
        """Remove a command that could not be sent; that was already reported."""
        with self._lock:
            self._sent = [each for each in self._sent if each is not command]

    def doubt(self) -> None:
        """Record that the connection broke: all unanswered commands are doubtful."""
        with self._lock:
            self._doubtful += self._sent
            self._sent = []

    def note(self, events: Sequence[Event], *, is_refused: bool) -> None:
        """Remove the commands that were answered by what the engine has sent.

        `SendMessage` and `Decide` are answered by their own event or a refusal, all other commands by any message.
        """
        with self._lock:
            tracked = () if is_refused else tuple(each for each in self._sent if isinstance(each, SendMessage | Decide))
            self._sent = _without_effect(tracked, events)
            self._doubtful = _without_effect(self._doubtful, events)

    def lost(self, *, is_answer: bool) -> bool:
        """Return whether a doubtful command did not arrive; False until `is_answer`, and again in later calls.

        `is_answer` says that the engine has sent something since the connection was restored.
        """
        with self._lock:
            is_lost = is_answer and bool(self._doubtful)
            if is_answer:
                self._doubtful = []
            return is_lost


def _without_effect(commands: Sequence[Command], events: Sequence[Event]) -> list[Command]:
    """Return the commands whose effect is not among the events."""
    inner = [event.event if isinstance(event, DelegateStep) else event for event in events]
    return [command for command in commands if not any(_is_effect(event, command) for event in inner)]


def _is_effect(event: object, command: Command) -> bool:
    """Return whether the event is in the log because of the command."""
    if isinstance(command, SendMessage):
        return isinstance(event, UserMessage) and event.text == well_formed(command.text)
    if isinstance(command, ChangeSettings):
        return isinstance(event, SettingsChanged) and event.mode == command.mode
    return isinstance(command, Decide) and isinstance(event, ActionDecided) and event.action_id == command.action_id


def _incoming(message: Message) -> Incoming:
    if isinstance(message, Refused):
        return CommandRefused(message.reason)
    return EngineNotice(message.text) if isinstance(message, Notice) else message
