"""One sub-agent: drives its session, tells the parent's log what it does, and says how it ended; see `delegates`."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

from workbench.session.acting.running import CallPlace
from workbench.session.delegation.delegate_steps import told
from workbench.session.events import (
    ActionObserved,
    Event,
    LiveEvent,
    ModelResponded,
    RunEnded,
    ToolOutput,
    VersionTaken,
)
from workbench.session.session import Session
from workbench.session.storage.words import observed_text
from workbench.tools.delegation import Delegated

_TASK = """You are the sub-agent {agent}. Another agent gives you the task below and sees nothing of your work but
your final message, so put in it all that was asked for.

{task}"""
_LEFT = "The sub-agent stopped at a question to the person that nobody was there to answer. What it did so far stays."


class Started(Protocol):
    """A session that was started for a sub-agent."""

    id: str
    session: Session

    def close(self) -> None:
        """Give back all it holds."""
        ...


class Starter(Protocol):
    """Starts the session of a sub-agent; raises WorkbenchError."""

    def __call__(
        self, *, agent: str, max_steps: int, on_event: Callable[[Event], None], on_live: Callable[[LiveEvent], None]
    ) -> Started:
        """The session, with nothing said in it yet."""
        ...


class SubAgent:
    """One sub-agent at work."""

    def __init__(self, agent: str, place: CallPlace | None, on_wait: Callable[[], None]) -> None:
        self.agent = agent
        self.id = ""
        self.session: Session | None = None
        self.is_waiting = False
        self._place = place
        self._on_wait = on_wait
        self._started: Started | None = None
        self._changed = threading.Event()
        self._stopped = False
        self._left = False
        self._said = ""
        self._result = ""
        self._end: RunEnded | None = None

    def begin(self, start: Starter, max_steps: int) -> bool:
        """Open its session, unless it was stopped before."""
        if self._stopped:
            return False
        self._started = start(agent=self.agent, max_steps=max_steps, on_event=self._heard, on_live=self._live)
        self.id, self.session = self._started.id, self._started.session
        return True

    def work(self, task: str) -> Delegated:
        """Drive the session until its run has ended; waits in between for the person."""
        session = self.session
        assert session is not None
        session.send(_TASK.format(agent=self.agent, task=task))
        if self._stopped:
            session.interrupt()
        while True:
            self._changed.clear()
            if self._left:
                break
            while session.step():
                pass
            if session.phase != "deciding":
                break
            self._wait()
        return self._outcome(session)

    def _wait(self) -> None:
        self.is_waiting = True
        self._on_wait()
        self._changed.wait()
        self.is_waiting = False

    def interrupt(self) -> None:
        """Stop it, whatever it does."""
        self._stopped = True
        self.command(lambda session: session.interrupt())

    def leave(self) -> None:
        """Stop driving it; its question stays open in its log."""
        self._left = True
        self._changed.set()

    def command(self, give: Callable[[Session], None]) -> None:
        """Do something to its session, and let it go on."""
        try:
            if self.session is not None:
                give(self.session)
        finally:
            self._changed.set()

    def close(self) -> None:
        """End its session's threads and tools."""
        if self._started is not None:
            self._started.close()

    def _heard(self, event: Event) -> None:
        """Its session committed an event: keep what the outcome is made of, and tell the parent."""
        match event:
            case ModelResponded():
                self._said = event.text.strip() or self._said
            case ActionObserved() if event.ran:
                self._result = observed_text(event.observation)
            case RunEnded():
                self._end = event
            case VersionTaken() if event.notice and self._place is not None:
                its = f"{self.id}:{event.action_id}" if event.action_id else ""
                self._place.report(event.model_copy(update={"action_id": its}))
        step = told(self._place.action_id, self.agent, self.id, event) if self._place and self.id else None
        if step is not None and self._place is not None:
            self._place.report(step)

    def _live(self, event: LiveEvent) -> None:
        if isinstance(event, ToolOutput) and self._place is not None:
            self._place.show(event.model_copy(update={"action_id": f"{self.id}:{event.action_id}"}))

    def _outcome(self, session: Session) -> Delegated:
        end = self._end
        if session.unsaved:
            return self._failed(f"its log cannot be written ({session.unsaved})")
        if end is None:
            return Delegated(_LEFT, True, self.id)
        if end.reason == "finished" and self._result.strip():
            return Delegated(self._result, session=self.id)
        if end.reason in ("finished", "waiting") and self._said:
            return Delegated(self._said, session=self.id)
        return self._failed(f"{end.reason}{f', {end.detail}' if end.detail else ''}")

    def _failed(self, why: str) -> Delegated:
        last = f" The last it said: {self._said}" if self._said else ""
        return Delegated(f"The sub-agent did not come to its end: {why}.{last}", True, self.id)
