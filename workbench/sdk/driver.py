"""Drives an agent's session from the caller's event loop; the session's steps run in a separate thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar, cast

from workbench.errors import UsageError
from workbench.protocol.events import Event
from workbench.protocol.live import LiveEvent
from workbench.sdk.approval import Apply, Approver, describe_question
from workbench.sdk.event_pump import EventPump
from workbench.sdk.result import Reason, RunRecord, RunResult
from workbench.session.mentions import mentioned
from workbench.session.session import Session
from workbench.session.session_factory import Listeners, OpenedSession
from workbench.session.sub_agents import Delegates
from workbench.session.toolset import Overrides

T = TypeVar("T")
OnEvent = Callable[[Event], Any]
Opener = Callable[[str, str, Listeners], OpenedSession]
OPEN_PHASES = ("acting", "deciding")
"""The phases of a session in which actions of the last response do not have a result yet."""
_SUB_AGENT_WAITS = "a sub-agent waits"


class Driver:
    """Drives one session, which the first message or run opens, and calls the listeners with its events."""

    def __init__(self, open_session: Opener, overrides: Callable[[], Overrides], approver: Approver) -> None:
        """`open_session` is called with the first message, the ID of a session to resume or "", and the listeners."""
        self.listeners: list[OnEvent] = []
        self.opened: OpenedSession | None = None
        self._open_session = open_session
        self._overrides = overrides
        self._approver = approver
        self._record = RunRecord()
        self._worker: ThreadPoolExecutor | None = None
        self._pump: EventPump | None = None
        self._early: list[Any] = []  # events while nothing drives the session
        self._opening = threading.RLock()
        self._is_closed = False
        self._is_suspended = False  # questions of sub-agents stay open, until the session is opened again

    def open(self, prompt: str = "", session_id: str = "") -> OpenedSession:
        """Open the session, unless it is open, and return it; a new session is named after `prompt`. Raises
        WorkbenchError.
        """
        with self._opening:
            if self._is_closed:
                raise UsageError("this agent is closed")
            if self.opened is None:
                listeners: Listeners = {
                    "on_event": self._emit,
                    "on_live": _ignore,
                    "overrides": self._overrides(),
                }
                self.opened = self._open_session(prompt, session_id, listeners)
                self.opened.delegates.on_wait(lambda: self._emit(_SUB_AGENT_WAITS))
            return self.opened

    @property
    def session(self) -> Session:
        """The session, opened if necessary."""
        return self.open().session

    def _reopen(self) -> None:
        """Close and open the session again if a run has left questions of sub-agents open."""
        if self._is_suspended and self.opened is not None:
            opened, self.opened, self._is_suspended = self.opened, None, False
            opened.close()
            self.open(session_id=opened.id)

    def send(self, prompt: str) -> None:
        """Send a message, with the files that it mentions. Raises WorkbenchError, and TypeError if
        it is not a string.
        """
        if not isinstance(prompt, str):
            raise TypeError(f"a prompt is a text, not {type(prompt).__name__}")
        opened = self.open(prompt)
        servers = opened.servers
        names = mentioned(prompt, opened.workspace, servers.is_resource if servers else None)
        opened.session.send(prompt, names)

    def interrupt(self) -> None:
        """Stop the run; everything done so far is kept."""
        if self.opened is not None:
            self.opened.delegates.interrupt()
            self.opened.session.interrupt()

    async def drive(self, prompt: str | None, is_over: Callable[[str], bool]) -> RunResult:
        """Send a prompt, if any, and run until the session needs the user, or until `is_over` returns True.

        `is_over` is called after each step, with the phase of the session before that step. If this task is canceled,
        or a function of the caller raises, the agent is interrupted.
        """
        if self._pump is not None:
            raise UsageError("this agent runs already; send() queues a message for it")
        loop = asyncio.get_running_loop()
        pump = self._pump = EventPump(loop, self._deliver)
        if prompt is not None or self.opened is None or self.session.phase == "idle":
            self._record.begin()
        try:
            early, self._early = self._early, []
            for item in early:
                await self._deliver(item)
            await self._in_thread(pump, self._reopen)
            await self._in_thread(pump, self.open if prompt is None else lambda: self.send(prompt))
            while True:
                before = self.session.phase
                has_more = await self._in_thread(pump, self.session.step)
                if self._is_suspended or is_over(before) or not (has_more or await self._decided()):
                    return self.result()
        finally:
            self._pump = None

    async def _in_thread(self, pump: EventPump, work: Callable[[], T]) -> T:
        """Run `work` in the session's thread and return its result; deliver the session's events meanwhile."""
        with self._opening:
            if self._is_closed:
                raise UsageError("this agent is closed")
            if self._worker is None:
                self._worker = ThreadPoolExecutor(1, thread_name_prefix="agent")
            future = asyncio.get_running_loop().run_in_executor(self._worker, work)
        try:
            return await pump.result_of(future)
        except BaseException:
            if not future.done():
                self.interrupt()
                await asyncio.wait({future})
            raise

    async def _decided(self) -> bool:
        """Ask the caller about the session's open question, if any; return whether the session can continue."""
        session = self.session
        action = session.question
        if action is None:
            return False
        name = action.proposed.action_id
        return await self._approver.decide(action, "", lambda command: command(session, name))

    async def _deliver(self, item: Any) -> None:
        if item == _SUB_AGENT_WAITS:
            await self._decide_for_sub_agents(self.open().delegates)
            return
        self._record.apply(item)
        for listener in self.listeners:
            result = listener(item)
            if asyncio.iscoroutine(result):
                await result

    async def _decide_for_sub_agents(self, delegates: Delegates) -> None:
        """Ask the caller about the questions of the sub-agents, once all of them wait for the user.

        If no question is decided, leave them open and suspend the run.
        """
        questions = [
            (sub_agent, action)
            for sub_agent in delegates.waiting
            for action in (sub_agent.session.questions()[:1] if sub_agent.session is not None else ())
        ]
        for sub_agent, action in questions:
            apply = _route(delegates, f"{sub_agent.id}:{action.proposed.action_id}")
            if await self._approver.decide(action, sub_agent.agent, apply):
                return
        if questions:
            self._is_suspended = delegates.leave()

    def result(self) -> RunResult:
        """Return the outcome of the run so far."""
        opened = self.open()
        session = opened.session
        if session.unsaved:
            return self._record.result("error", opened.id, session.unsaved)
        if session.phase not in OPEN_PHASES:
            return self._record.result(cast(Reason, session.ended or "waiting"), opened.id)
        action = session.question
        detail = describe_question(action) if action is not None else "a sub-agent waits for an approval"
        return self._record.result("question", opened.id, detail)

    def _emit(self, item: Any) -> None:
        pump = self._pump
        if pump is None:
            self._early.append(item)
        else:
            pump.put(item)

    def close(self) -> None:
        """Stop the run and release the session; its log stays. May be called twice."""
        with self._opening:
            self._is_closed = True
        if self._worker is not None:
            self.interrupt()
            self._worker.shutdown()
        if self.opened is not None:
            self.opened.close()


def _route(delegates: Delegates, name: str) -> Apply:
    """Return a function that applies a command to the sub-agent that has the action `name`."""

    def apply(command: Callable[[Session, str], None]) -> None:
        delegates.command(name, command)

    return apply


def _ignore(event: LiveEvent) -> None:
    """Ignore an event that is not stored."""


def listeners_in(callbacks: OnEvent | Iterable[OnEvent]) -> list[OnEvent]:
    """Return a list of the callbacks, which may be one function or several."""
    return [callbacks] if callable(callbacks) else list(callbacks)


def blocking(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine and return its result; if this thread already runs an event loop, use one in another thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()
