"""How the parent's log tells the steps of a sub-agent: what a screen needs; the rest is in the sub-agent's own log."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from msgspec.structs import replace

from workbench.protocol.events import (
    ActionAbandoned,
    ActionAssessed,
    ActionDecided,
    ActionEvent,
    ActionObserved,
    ActionProposed,
    ActionStarted,
    DelegateStep,
    Event,
    HistoryCondensed,
    ModelAsked,
    ModelResponded,
    RunEnded,
    UserMessage,
    VersionTaken,
)
from workbench.protocol.live import LiveEvent, ToolOutput
from workbench.session.actions.run import CallPlace
from workbench.session.session import Session
from workbench.session.storage.words import observed_text
from workbench.text import cut_middle
from workbench.tools.delegation import Delegated

_LONGEST = 4_000
"""Characters of a result that are told."""


def told(call: str, agent: str, session: str, event: Event) -> DelegateStep | None:
    """The step for the parent's log, or None for what only the sub-agent's own log holds."""
    part: ModelResponded | HistoryCondensed | ActionEvent
    match event:
        case ActionObserved():
            part = replace(event, observation=_short(event.observation))
        case ModelResponded():  # for what it cost
            part = replace(event, text="", reasoning="", thinking=(), tool_calls=())
        case HistoryCondensed():
            part = replace(event, summary="")
        case ActionProposed() | ActionAssessed() | ActionDecided() | ActionStarted() | ActionAbandoned() | ModelAsked():
            part = event
        case _:
            return None
    if not isinstance(part, ModelResponded | HistoryCondensed):
        part = replace(part, action_id=f"{session}:{part.action_id}")
    return DelegateStep(action_id=call, agent=agent, session=session, event=part)


def _short(observation: dict[str, Any]) -> dict[str, Any]:
    text = cut_middle(observed_text(observation), _LONGEST)
    known: dict[str, Any] = {name: observation[name] for name in ("is_error", "exit_code") if name in observation}
    if isinstance(printed := observation.get("output"), str):  # without what the model is told about it
        known["output"] = cut_middle(printed, _LONGEST)
    return {"content": [{"type": "text", "text": text}], **known}


_TASK = """You are the sub-agent {agent}. Another agent gives you the task below and sees nothing of your work but
your final message, so put in it all that was asked for.

{task}"""
_LEFT = "The sub-agent stopped at a question to the person that nobody was there to answer. What it did so far stays."


class Started(Protocol):
    """A session that was started, or opened again, for a sub-agent."""

    id: str
    session: Session

    def events(self, after: int = 0) -> Iterator[Event]:
        """What its log holds."""

    def close(self) -> None:
        """Give back all it holds."""


class Starter(Protocol):
    """Starts the session of a sub-agent, or opens the one there is; raises WorkbenchError."""

    def __call__(
        self,
        *,
        agent: str,
        max_steps: int,
        session_id: str,
        on_event: Callable[[Event], None],
        on_live: Callable[[LiveEvent], None],
    ) -> Started:
        """The session of that id; without one a new one, with nothing said in it yet."""


class SubAgent:
    """One sub-agent at work."""

    def __init__(self, agent: str, place: CallPlace | None, on_wait: Callable[[], None]) -> None:
        self.agent = agent
        self.before = place.sub_agent if place else None
        """What the log knows of its work before the session was opened."""
        self.id = self.before.session if self.before else ""
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
        """Open its session, unless it was stopped or left before."""
        if self._stopped or self._left:
            return False
        opened = self._started = start(
            agent=self.agent, max_steps=max_steps, session_id=self.id, on_event=self._heard, on_live=self._live
        )
        if self.before is not None:
            self._recall(opened, self.before.told)
        self.id, self.session = opened.id, opened.session
        return True

    def _recall(self, opened: Started, told: int) -> None:
        """Remember what it did before, and tell of that what the parent's log does not hold."""
        for event in opened.events():
            self._remember(event)
            if event.seq > told:
                self._tell(event)

    def work(self, task: str) -> Delegated:
        """Drive the session until its run has ended; waits in between for the person."""
        session = self.session
        assert session is not None
        if self.before is None:
            session.send(_TASK.format(agent=self.agent, task=task))
        if self._stopped:
            session.interrupt()
        while True:
            self._changed.clear()
            if self._left:
                break
            while session.step():
                pass
            phase = session.phase
            if phase == "deciding":
                self._wait()
            elif phase == "idle" or session.unsaved:
                break
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

    def stop(self, reason: str) -> None:
        """End its run before anything else starts, with this reason in its log."""
        self._stopped = True
        self.command(lambda session: session.stop(reason))

    def leave(self) -> None:
        """Stop driving it; its question stays open in its log, and its parent's call too."""
        self._left = True
        if self._place is not None and (self.id or self.before):
            self._place.is_left = True
        self._changed.set()

    def command(self, give: Callable[[Session], None]) -> None:
        """Do something to its session, if that is open, and let it go on."""
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
        """Its session committed an event; what comes while that is opened again is recalled from its log."""
        if self.session is not None:
            self._remember(event)
            self._tell(event)

    def _remember(self, event: Event) -> None:
        """Keep what the outcome is made of."""
        match event:
            case UserMessage():
                self._end = None
            case ModelResponded():
                self._said = event.text.strip() or self._said
            case ActionObserved() if event.ran:
                self._result = observed_text(event.observation)
            case RunEnded():
                self._end = event

    def _tell(self, event: Event) -> None:
        """Tell the parent's log."""
        if self._place is None:
            return
        step: Event | None
        if isinstance(event, VersionTaken) and event.notice:
            its = f"{self.id}:{event.action_id}" if event.action_id else ""
            step = replace(event, action_id=its)
        else:
            step = told(self._place.action_id, self.agent, self.id, event)
        if step is not None:
            self._place.report(step)

    def _live(self, event: LiveEvent) -> None:
        if isinstance(event, ToolOutput) and self._place is not None:
            self._place.show(replace(event, action_id=f"{self.id}:{event.action_id}"))

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
