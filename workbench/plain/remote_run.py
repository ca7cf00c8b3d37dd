"""`ohw run` over ssh: a run on another machine, with the output and exit codes of a run on this one.

The engine on the other machine works as for a screen, and this module is the front end that follows it. If the
connection is lost, the agent continues, and this module waits a while for the connection to come back.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from workbench.agent.custom_commands import CommandMessage
from workbench.client.client import (
    CommandRefused,
    Disconnected,
    EngineNotice,
    EngineStalled,
    Incoming,
    Reconnected,
)
from workbench.client.remote_client import RemoteClient
from workbench.client.threads import in_daemon
from workbench.config.modes import NEVER
from workbench.errors import WorkbenchError
from workbench.plain.headless import EXIT_CODES, LAST_WORD, QUESTION, SIGNALS, Outlet
from workbench.plain.narrator import OpenQuestion
from workbench.protocol.commands import ChangeSettings, Interrupt, Leave, SendMessage
from workbench.protocol.event_base import EventBase
from workbench.protocol.events import Event, UserMessage
from workbench.protocol.live import NOT_SAVED, EngineState
from workbench.session.state import State

RECONNECTION = 300.0
"""Seconds to wait for a lost connection to be restored."""
_END = 5.0
"""Seconds to wait for the engine to end."""
_LAST_STEP = 3.0
"""Seconds to wait for an interrupted step and its events."""
_UNREACHABLE = "no connection to {} for {:g} s; the agent works there until its run ends or it has a question"
_NOT_BEGUN = "the task did not reach {}, so nothing has run there"
_NOT_STOPPED = "the agent on {} was not stopped: there is no connection"


def run_remote(
    client: RemoteClient,
    message: CommandMessage,
    *,
    as_json: bool,
    never_asks: bool = False,
    patience: float = RECONNECTION,
) -> int:
    """Run the agent on a message in the client's new session, and return the exit code that `run` would return.

    `never_asks` first sets that mode, which counts as confirmed. If the connection is lost for `patience` seconds, the
    run ends here with code 1. Raises WorkbenchError if the run cannot start.
    """
    outlet = Outlet(as_json)
    outlet.notices(filter(None, [message.notice]))
    driven = _RemoteRun(client, outlet, message, never_asks=never_asks, patience=patience)
    code = 1
    try:
        code = asyncio.run(driven.drive())
    finally:
        client.close(stop=driven.is_stopped)
    outlet.notices(filter(None, [driven.problem]))
    outlet.close(client.session.id, driven.questions(), driven.unsaved)
    return code or outlet.failure_code


class _RemoteRun:
    """Follows the engine of one session until it can do no more without the user."""

    def __init__(
        self, client: RemoteClient, outlet: Outlet, message: CommandMessage, *, never_asks: bool, patience: float
    ) -> None:
        self._client = client
        self._outlet = outlet
        self._message = message
        self._never_asks = never_asks
        self._patience = patience
        self._host = client.session.url.host
        self._state = State()
        self._last_seq = 0
        self._has_begun = self._is_over = False
        self._must_repeat = False
        """Whether the last command could not be sent, and must be sent again with the next connection."""
        self._awaits_mode = False
        """Whether the message is only sent once the mode is in the log."""
        self._limit = asyncio.Timeout(None)
        self._signal = 0
        self._is_leaving = self._is_gone = False
        self.problem = ""
        """Why this program stopped following the run before its end, in one line; else empty."""
        self.unsaved = ""
        """Why the log on the other machine cannot be written, in one line; else empty."""

    @property
    def is_stopped(self) -> bool:
        """Whether the agent must be stopped when this program disconnects."""
        return bool(self._signal or self._outlet.failure_code)

    def questions(self) -> list[OpenQuestion]:
        """Return the open questions to the user, those from sub-agents first."""
        state = self._state
        agents = {call.sub_agent.session: call.sub_agent.agent for call in state.batch.values() if call.sub_agent}
        delegated = [
            (action, agents[session])
            for name, action in state.delegated.items()
            if action.is_waiting and (session := name.partition(":")[0]) in agents
        ]
        return [*delegated, *((action, "") for action in state.waiting)]

    async def drive(self) -> int:
        """Send the message and follow the run; return the exit code. Raises WorkbenchError if the run cannot start."""
        with self._handled_signals(asyncio.get_running_loop()):
            with suppress(TimeoutError):
                async with self._limit:
                    await self._follow()
            if not self._is_over and not self.is_stopped:
                self.problem = _UNREACHABLE.format(self._host, self._patience)
            if not self._has_begun and not self.is_stopped:
                raise WorkbenchError(f"{_NOT_BEGUN.format(self._host)}: {self.problem}")
            if not self.problem:
                await self._leave()
        # A stream that fails while the last lines are written finds no loop in which to stop the agent.
        self._is_leaving = True
        return self._code()

    async def _follow(self) -> None:
        self._outlet.on_failure(self._stop_unseen)
        for event in await in_daemon(lambda: list(self._client.history())):
            if isinstance(event, EventBase):
                self._apply(event)
        self._send_next()
        while not self._is_over:
            for message in await self._client.receive():
                self._apply(message)

    async def _leave(self) -> None:
        """Let the engine end, and receive its messages until then, because closing the session adds the last events."""
        self._is_leaving = True
        self._client.send(Leave(stop=self.is_stopped, waits=True))
        self._limit = asyncio.Timeout(None)
        with suppress(TimeoutError):
            async with self._limit:
                self._end_after(_END)
                while not self._is_gone:
                    for message in await self._client.receive():
                        self._apply(message)

    def _code(self) -> int:
        if self._signal:
            return 128 + self._signal
        if self.problem or self.unsaved:
            return 1
        if self._outlet.failure_code:
            return self._outlet.failure_code
        if self.questions():
            return QUESTION
        return EXIT_CODES.get(self._state.ended, 1)

    def _send_next(self) -> None:
        """Send the next command whose effect is not in the log yet: the mode, if it must be set, then the message."""
        if self.is_stopped:
            return
        if self._never_asks and self._state.mode != NEVER:
            self._awaits_mode = True
            self._client.send(ChangeSettings(mode=NEVER, confirmed=True))
        elif not self._has_begun:
            self._client.send(SendMessage(text=self._message.text, mentions=None, command=self._message.command))

    # Messages from the engine, and about the connection.

    def _apply(self, message: Incoming) -> None:
        match message:
            case EventBase():
                self._event(message)
            case EngineState():
                self._engine_state(message)
            case EngineNotice():
                self._outlet.notices([message.text])
            case CommandRefused():
                self._refused(message)
            case EngineStalled() | Reconnected() | Disconnected():
                self._connection_changed(message)
            case _:
                self._outlet.live(message)

    def _event(self, event: Event) -> None:
        if event.seq <= self._last_seq:
            return
        self._last_seq = event.seq
        self._state.apply(event)
        self._outlet.event(event)
        self._has_begun = self._has_begun or isinstance(event, UserMessage)
        if self._awaits_mode and self._state.mode == NEVER:
            self._awaits_mode = False
            self._send_next()
        self._is_over = self._is_over or self._waits_in_sub_agents()

    def _waits_in_sub_agents(self) -> bool:
        """Return whether every running action is a sub-agent that waits for the user."""
        started = [action for action in self._state.batch.values() if action.started]
        return bool(started) and all(action.waits_in_sub_agent for action in started)

    def _engine_state(self, state: EngineState) -> None:
        self._outlet.live(state)
        if state.detail.startswith(NOT_SAVED):
            self.unsaved, self._is_over = state.detail, True
        # The engine says so after the last event of its step.
        is_resting = state.state in ("idle", "deciding") and state.state == self._state.phase
        self._is_over = self._is_over or (self._has_begun and is_resting)

    def _refused(self, refused: CommandRefused) -> None:
        if self._is_leaving:
            self._is_gone = True
        elif self._signal:
            self.problem, self._is_over = _NOT_STOPPED.format(self._host), True
        elif refused.repeat == "now":
            self._send_next()
        elif refused.repeat == "reconnected":
            self._must_repeat = True
        elif not self._has_begun:
            raise WorkbenchError(refused.reason)
        else:
            self._outlet.notices([refused.reason])

    def _connection_changed(self, message: EngineStalled | Reconnected | Disconnected) -> None:
        if self._is_leaving:
            self._is_gone = True
        elif isinstance(message, Disconnected):
            self.problem, self._is_over = message.reason, True
        elif isinstance(message, EngineStalled):
            self._outlet.notices([message.reason])
            if not self._signal and self._limit.when() is None:
                self._end_after(self._patience)
        else:
            self._reconnected(message)

    def _reconnected(self, message: Reconnected) -> None:
        self._outlet.notices([message.text])
        if not self.is_stopped:
            self._limit.reschedule(None)
        # The mode may be lost without a refusal, because anything that the engine sends counts as the answer to it.
        if self._must_repeat or self._awaits_mode:
            self._must_repeat = False
            self._send_next()

    # The end.

    def _end_after(self, seconds: float) -> None:
        self._limit.reschedule(asyncio.get_running_loop().time() + seconds)

    def _stop_unseen(self, problem: str) -> None:
        """Stop the agent, because no one can follow the run any more."""
        self._stop()

    def _stop(self) -> None:
        if not self._is_leaving:
            self._client.send(Interrupt())
            self._end_after(_LAST_STEP if self._has_begun else 0)

    @contextmanager
    def _handled_signals(self, loop: asyncio.AbstractEventLoop) -> Iterator[None]:
        """In the context, stop the agent at the first signal, and stop waiting for it at the second."""

        def handle(number: int, frame: FrameType | None) -> None:
            # Runs even while an output blocks the loop.
            self._outlet.limit_waits(LAST_WORD)
            loop.call_soon_threadsafe(self._signaled, number)

        before = {number: signal.signal(number, handle) for number in SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _signaled(self, number: int) -> None:
        if self._signal:
            self._end_after(0)
            return
        self._signal = number
        self._stop()
