"""Sub-agents: each is a session with its own log, driven inside an action of its parent.

Its steps are also in the parent's log, so that one front end shows both and answers for both. In the parent's log, the
ids of its actions are `session:action`, by which a decision is routed back to it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Protocol

import msgspec.structs

from workbench.agent.agent_kinds import AgentKind, AgentKinds
from workbench.llm.model import ModelRequest
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
from workbench.protocol.risk import Mode
from workbench.session.actions.decide import CommandError
from workbench.session.actions.run import CURRENT_CALL, CallContext
from workbench.session.session import Session
from workbench.session.state import State
from workbench.session.storage.event_rows import observed_text
from workbench.session.workspace.files import WorkspaceFiles
from workbench.text import cut_middle
from workbench.tools.context import Delegated

_MAX_RESULT = 4_000
"""The most characters of a result in the parent's log."""


def delegate_step(call: str, agent: str, session: str, event: Event) -> DelegateStep | None:
    """Return the step for the parent's log, or None for an event that only the sub-agent's own log has."""
    part: ModelResponded | HistoryCondensed | ActionEvent
    match event:
        case ActionObserved():
            part = msgspec.structs.replace(event, observation=_short(event.observation))
        case ModelResponded():  # only for the cost
            part = msgspec.structs.replace(event, text="", reasoning="", thinking=(), tool_calls=())
        case HistoryCondensed():
            part = msgspec.structs.replace(event, summary="")
        case ActionProposed() | ActionAssessed() | ActionDecided() | ActionStarted() | ActionAbandoned() | ModelAsked():
            part = event
        case _:
            return None
    if not isinstance(part, ModelResponded | HistoryCondensed):
        part = msgspec.structs.replace(part, action_id=f"{session}:{part.action_id}")
    return DelegateStep(action_id=call, agent=agent, session=session, event=part)


def _short(observation: dict[str, Any]) -> dict[str, Any]:
    text = cut_middle(observed_text(observation), _MAX_RESULT)
    fields: dict[str, Any] = {name: observation[name] for name in ("is_error", "exit_code") if name in observation}
    if isinstance(output := observation.get("output"), str):  # without the notes for the model
        fields["output"] = cut_middle(output, _MAX_RESULT)
    return {"content": [{"type": "text", "text": text}], **fields}


_TASK = """You are the sub-agent {agent}. Another agent gives you the task below and sees nothing of your work but
your final message, so put in it all that was asked for.

{task}"""
_SUSPENDED = (
    "The sub-agent stopped at a question to the user, but no user was there to answer. Its changes so far remain."
)


class OpenedSubSession(Protocol):
    """The session of a sub-agent, new or reopened."""

    id: str
    session: Session

    def events(self, after: int = 0) -> Iterator[Event]:
        """Yield the events of the session's log."""

    def close(self) -> None:
        """Release everything that the session has opened."""


class Starter(Protocol):
    """Starts or opens the session of a sub-agent; raises WorkbenchError."""

    def __call__(
        self,
        *,
        agent: str,
        max_steps: int,
        session_id: str,
        stop: Callable[[str], None],
        on_event: Callable[[Event], None],
        on_live: Callable[[LiveEvent], None],
        on_request: Callable[[ModelRequest], None],
    ) -> OpenedSubSession:
        """Open the session `session_id` or, if that is empty, start a new one, which has no message yet.

        `stop` ends the run of the sub-agent, for a reason; it may be called from any thread.
        """


class CallListener(Protocol):
    """Is given what sub-agents send to their models, and what those answer; called from any thread."""

    def note_request(self, request: ModelRequest, session: str) -> None:
        """Note what the sub-agent with this session sends to its model now."""

    def note_answer(self, session: str, answer: ModelResponded) -> None:
        """Note an answer that the sub-agent with this session got, before it is reported."""


class SubAgent:
    """A running sub-agent, driven in the thread of the call that delegated to it."""

    def __init__(
        self,
        agent: str,
        call: CallContext | None,
        on_wait: Callable[[], None],
        listener: CallListener | None = None,
        *,
        is_program: bool = False,
    ) -> None:
        """`on_wait` is called when the sub-agent starts to wait for the user; `listener` is given its model calls.

        `is_program` means that it is another program, which cannot be left and resumed.
        """
        self.agent = agent
        self.is_program = is_program
        self.before = call.sub_agent if call else None
        """The sub-agent's state in the parent's log if its session is opened again; None for a new one."""
        self.id = self.before.session if self.before else ""
        self.session: Session | None = None
        self.is_waiting = False
        self._call = call
        self._on_wait = on_wait
        self._listener = listener
        self._opened: OpenedSubSession | None = None
        self._changed = threading.Event()
        self._is_stopped = False
        self._is_suspended = False
        self._last_text = ""
        self._last_result = ""
        self._end: RunEnded | None = None

    def begin(self, start: Starter, max_steps: int, files: WorkspaceFiles | None) -> bool:
        """Open the sub-agent's session, unless it was stopped or left before; return whether it was opened.

        `files` are those of the parent.
        """
        if self._is_stopped or self._is_suspended:
            return False
        opened = self._opened = start(
            agent=self.agent,
            max_steps=max_steps,
            session_id=self.id,
            stop=self.stop,
            on_event=self._on_event,
            on_live=self._on_live,
            on_request=self._on_request,
        )
        if files is not None:
            opened.session.files.join(files, opened.id)
        if self.before is not None:
            self._catch_up(opened, self.before.last_seq)
        self.id, self.session = opened.id, opened.session
        opened.session.watch.start(self._changed.set)
        return True

    def _catch_up(self, opened: OpenedSubSession, last_seq: int) -> None:
        """Restore the outcome so far from the sub-agent's log, and add the events that the parent's log lacks to it."""
        for event in opened.events():
            self._remember(event)
            if event.seq > last_seq:
                self._report(event)

    def work(self, task: str) -> Delegated:
        """Drive the session until its run has ended, waiting for the user in between, and return the outcome."""
        session = self.session
        assert session is not None
        if self.before is None:
            session.send(_TASK.format(agent=self.agent, task=task))
        if self._is_stopped:
            session.interrupt()
        while True:
            self._changed.clear()
            if self._is_suspended:
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
        """Stop the sub-agent, whatever it is doing."""
        self._is_stopped = True
        self.command(lambda session: session.interrupt())

    def stop(self, reason: str) -> None:
        """End the sub-agent's run before anything else starts, with this reason in its log."""
        self._is_stopped = True
        self.command(lambda session: session.stop(reason))

    def leave(self) -> None:
        """Stop driving the sub-agent; its question stays open in its log, and the parent's call stays open too."""
        self._is_suspended = True
        if self._call is not None and (self.id or self.before):
            self._call.is_suspended = True
        self._changed.set()

    def command(self, apply: Callable[[Session], None]) -> None:
        """Apply a command to the sub-agent's session, if that is open, and wake the thread that drives it."""
        try:
            if self.session is not None:
                apply(self.session)
        finally:
            self._changed.set()

    def close(self) -> None:
        """End the threads and tools of the session."""
        if self._opened is not None:
            self._opened.close()

    def _on_event(self, event: Event) -> None:
        """Record and report an event of the session; during reopening, `_catch_up` does that instead."""
        if self.session is not None:
            self._remember(event)
            self._report(event)

    def _remember(self, event: Event) -> None:
        """Record what the event contributes to the outcome."""
        match event:
            case UserMessage():
                self._end = None
            case ModelResponded():
                self._last_text = event.text.strip() or self._last_text
            case ActionObserved() if event.ran:
                self._last_result = observed_text(event.observation)
            case RunEnded():
                self._end = event

    def _report(self, event: Event) -> None:
        """Add the event to the parent's log."""
        if self._call is None:
            return
        step: Event | None
        if isinstance(event, VersionTaken) and event.notice:
            action_id = f"{self.id}:{event.action_id}" if event.action_id else ""
            step = msgspec.structs.replace(event, action_id=action_id)
        else:
            step = delegate_step(self._call.action_id, self.agent, self.id, event)
        if isinstance(event, ModelResponded) and self._listener is not None:
            self._listener.note_answer(self.id, event)
        if step is not None:
            self._call.report(step)

    def _on_request(self, request: ModelRequest) -> None:
        # A program is sent the task alone, and not what our own agents are.
        if self._listener is not None and not self.is_program:
            self._listener.note_request(request, self.id)

    def _on_live(self, event: LiveEvent) -> None:
        if isinstance(event, ToolOutput) and self._call is not None:
            self._call.show(msgspec.structs.replace(event, action_id=f"{self.id}:{event.action_id}"))

    def _outcome(self, session: Session) -> Delegated:
        end = self._end
        if session.unsaved:
            return self._failure(f"its log cannot be written ({session.unsaved})")
        if end is None:
            return Delegated(_SUSPENDED, True, self.id)
        if end.reason == "finished" and self._last_result.strip():
            return Delegated(self._last_result, session=self.id)
        if end.reason in ("finished", "waiting") and self._last_text:
            return Delegated(self._last_text, session=self.id)
        if end.reason == "interrupted":
            return self._failure(end.detail, "The sub-agent was stopped")
        return self._failure(f"{end.reason}{f', {end.detail}' if end.detail else ''}")

    def _failure(self, reason: str, outcome: str = "The sub-agent did not finish") -> Delegated:
        last = f" The last it said: {self._last_text}" if self._last_text else ""
        return Delegated(f"{outcome}{f': {reason}' if reason else ''}.{last}", True, self.id)


_NOT_STARTED = "The sub-agent was not started: the run was stopped."
_NOT_OPEN_YET = "the sub-agent is only just being opened again; answer once more"
_OPEN_TIMEOUT = 10.0
"""How long an answer waits for its sub-agent to be opened, in seconds."""


class Delegates:
    """The sub-agents of one session: the `Delegation` of its tools, and the route of the user's decisions to them."""

    def __init__(self, start: Starter, state: State, kinds: AgentKinds | None = None) -> None:
        """`state` is the session's; it names the sub-agents that had open questions when the session was opened."""
        self._start = start
        self._kinds = kinds or AgentKinds()
        self._state = state
        self._files: WorkspaceFiles | None = None
        self._was_open: set[str] = set()  # sessions of sub-agents that this process has opened
        self._listeners: list[Callable[[], None]] = []
        self._call_listener: CallListener | None = None
        self._is_suspended = False
        self._stop_reason = ""
        self._changed = threading.Condition()
        self._starting = threading.Lock()
        self._working: list[SubAgent] = []

    def joined_to(self, files: WorkspaceFiles) -> Delegates:
        """Let the sub-agents use the snapshots of the session, whose files these are; return self."""
        self._files = files
        return self

    def on_calls(self, listener: CallListener) -> None:
        """Let `listener` be given the model calls of the sub-agents."""
        self._call_listener = listener

    def on_wait(self, listener: Callable[[], None]) -> None:
        """Call `listener`, from any thread, when `waiting` may have changed."""
        self._listeners.append(listener)

    @property
    def kinds(self) -> Mapping[str, str]:
        """The descriptions of the kinds of sub-agents, by name."""
        return {kind.name: kind.description for kind in self._kinds}

    def kind_of(self, agent: str) -> AgentKind | None:
        """Return the kind of the sub-agent with this name; None if it has none."""
        return self._kinds.named(agent)

    def __call__(self, agent: str, task: str, max_steps: int) -> Delegated:
        """Let a sub-agent do the task, or resume the one that this call had; return the outcome when its run has
        ended.
        """
        call, kind = CURRENT_CALL.get(), self._kinds.named(agent)
        name = call.sub_agent.agent if call and call.sub_agent else kind.name if kind else agent
        is_program = kind is not None and kind.program is not None
        sub_agent = SubAgent(name, call, self._notify, self._call_listener, is_program=is_program)
        with self._changed:
            self._working.append(sub_agent)
            if self._is_suspended:
                sub_agent.leave()
            if self._stop_reason:
                sub_agent.stop(self._stop_reason)
        try:
            with self._starting:  # two threads must not open tools at once
                if not sub_agent.begin(self._start, max_steps, self._files):
                    return Delegated(_NOT_STARTED, is_error=True)
            self._note_open(sub_agent)
            definition = f"{kind.source} · {kind.facts}" if kind else ""
            return replace(sub_agent.work(task), agent=sub_agent.agent, definition=definition)
        finally:
            sub_agent.close()
            with self._changed:
                self._working.remove(sub_agent)
            self._note_open(sub_agent)
            if self.waiting:  # the others were only waiting for this one
                self._notify()

    def _notify(self) -> None:
        for listener in self._listeners:
            listener()

    def _all(self) -> list[SubAgent]:
        with self._changed:
            return list(self._working)

    def _note_open(self, sub_agent: SubAgent) -> None:
        with self._changed:
            self._was_open.add(sub_agent.id)
            self._changed.notify_all()

    def _expected(self) -> set[str]:
        """Return the sessions of sub-agents that are yet to be resumed, because the log has an open question of
        theirs.
        """
        return set(self._state.sub_agents_asking) - self._was_open

    def interrupt(self) -> None:
        """Stop all sub-agents."""
        for sub_agent in self._all():
            sub_agent.interrupt()

    def stop(self, reason: str) -> None:
        """End the runs of all sub-agents, and of those about to start, before they do anything else."""
        self._stop_reason = reason
        for sub_agent in self._all():
            sub_agent.stop(reason)

    @property
    def waiting(self) -> list[SubAgent]:
        """All running sub-agents if every one of them waits for the user; otherwise empty."""
        working = self._all()
        return working if all(each.is_waiting for each in working) else []

    @property
    def can_rest(self) -> bool:
        """Whether all running sub-agents wait for the user and can be resumed in another process."""
        waiting = self.waiting
        return bool(waiting) and not any(each.is_program for each in waiting)

    def leave(self) -> bool:
        """If all sub-agents wait for the user, leave their questions and calls open; return whether that was so."""
        if not self.waiting and not self._expected():
            return False
        with self._changed:
            self._is_suspended = True
        for sub_agent in self._all():
            sub_agent.leave()
        return True

    def command(self, action_id: str, apply: Callable[[Session, str], None]) -> bool:
        """Apply a command to the sub-agent whose action `action_id` is; return False if there is none. Raises
        CommandError.

        An answer may arrive before a resumed session has opened the sub-agent again; it waits up to `_OPEN_TIMEOUT`
        seconds for that.
        """
        session_id, _, own_id = action_id.partition(":")
        with self._changed:
            if not self._changed.wait_for(lambda: session_id not in self._expected(), _OPEN_TIMEOUT):
                raise CommandError(_NOT_OPEN_YET)
        for sub_agent in self._all():
            if own_id and sub_agent.id == session_id and sub_agent.session is not None:
                sub_agent.command(lambda session: apply(session, own_id))
                return True
        return False

    def set_mode(self, mode: Mode) -> None:
        """Change the mode of all sub-agents."""
        for sub_agent in self._all():
            sub_agent.command(lambda session: session.set(mode=mode))
