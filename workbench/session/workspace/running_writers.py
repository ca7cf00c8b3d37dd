"""The actions that may be changing files now, those of sub-agents included, and the snapshots to take at their ends."""

from __future__ import annotations

import time
from collections.abc import Callable

from workbench.protocol.events import (
    ActionAbandoned,
    ActionAssessed,
    ActionDecided,
    ActionObserved,
    ActionStarted,
    DelegateStep,
    Event,
)
from workbench.session.state import State
from workbench.session.workspace.snapshots import SnapshotRequest, contents_of
from workbench.tools.effects import START_AGENT
from workbench.tools.manifest import kind_of


class RunningWriters:
    """Follows one session. All times are in nanoseconds since the epoch.

    The id of a sub-agent's action is `SESSION:ACTION`. A sub-agent that is another program may change files without an
    action. So whatever changes while it works belongs to its next action or report that ends or, if there is none, to
    the call that delegated to it. It does not work while it waits for the user.
    """

    def __init__(self, state: State, may_write: Callable[[str], bool]) -> None:
        """`may_write` returns whether an action that has just started may change files."""
        self._state = state
        self._may_write = may_write
        self._started: dict[str, int] = {}
        """By id: when each action started, the user's commands and rewinds included."""
        self._delegated: dict[str, str] = {}
        """By id of a sub-agent's running action: the call that delegated to the sub-agent."""
        self._changeless: set[str] = set()
        """The running actions of programs that cannot have changed a file: their starts, and changes of their plans."""
        self._programs: dict[str, int] = {}
        """By the id of the call that delegated to a program: since when the program has been working; 0 while it waits
        for the user.
        """

    def __bool__(self) -> bool:
        # A copy, because the threads of the snapshots ask too, while an event may be applied.
        return bool(self._started) or any(tuple(self._programs.values()))

    @property
    def delegated(self) -> bool:
        """Whether a sub-agent may be changing files."""
        return bool(self._delegated) or any(self._programs.values())

    def add(self, name: str) -> None:
        """Add something that may write from now on."""
        self._started[name] = time.time_ns()

    def remove(self, name: str) -> None:
        """Remove what was added."""
        self._started.pop(name, None)

    def follow(self, event: Event) -> SnapshotRequest | None:
        """Apply the next event; return the request for the snapshot after what has ended with it, if there is one."""
        match event:
            case ActionStarted() if self._may_write(event.action_id):
                self.add(event.action_id)
            case ActionObserved() | ActionAbandoned():
                return self._ended(event)
            case DelegateStep(session=session) if session:
                return self._follow_step(event.action_id, event.event)
        return None

    def _ended(self, event: ActionObserved | ActionAbandoned) -> SnapshotRequest | None:
        """Apply the end of an action; that of a call that delegated is also the end of what its sub-agent was doing."""
        name = event.action_id
        open_steps = [step for step, call in self._delegated.items() if call == name]
        started = [self._started.get(each, 0) for each in (name, *open_steps)]
        started = [each for each in (*started, self._programs.get(name, 0)) if each]
        request = self._request(event, min(started)) if started else None
        for each in (name, *open_steps):
            self._started.pop(each, None)
            self._delegated.pop(each, None)
        self._programs.pop(name, None)
        return request

    def _follow_step(self, call: str, step: Event) -> SnapshotRequest | None:
        """Apply a step of the sub-agent to which the action `call` delegates."""
        match step:
            case ActionStarted():
                self._start_step(call, step.action_id)
            case ActionObserved() | ActionAbandoned() if step.action_id in self._changeless:
                self._changeless.remove(step.action_id)
            case ActionObserved() | ActionAbandoned():
                request = self._ended(step)
                since = self._programs.get(call)
                if since == 0:  # a question that was withdrawn has no decision
                    self._paused_or_resumed(call)
                return self._request(step, since) if since else request
            case ActionAssessed() | ActionDecided() if call in self._programs:
                return self._paused_or_resumed(call)
        return None

    def _start_step(self, call: str, action_id: str) -> None:
        action = self._state.delegated.get(action_id)
        tool = action.proposed.tool if action is not None else ""
        if tool == START_AGENT:
            self._programs[call] = time.time_ns()
        if tool == START_AGENT or (call in self._programs and kind_of(tool) == "plan"):
            self._changeless.add(action_id)
        elif self._may_write(action_id):
            self.add(action_id)
            self._delegated[action_id] = call

    def _paused_or_resumed(self, call: str) -> SnapshotRequest | None:
        """Note whether a program works; if it has just stopped for the user, return the request for its changes."""
        action = self._state.batch.get(call)
        works, since = not (action is not None and action.waits_in_sub_agent), self._programs[call]
        if works == bool(since):
            return None
        self._programs[call] = time.time_ns() if works else 0
        return None if works else SnapshotRequest("action", call, started=since)

    def _request(self, event: ActionObserved | ActionAbandoned, started: int) -> SnapshotRequest:
        """Return the request for the snapshot after an action.

        What changed before the action started is not its own, unless sub-agents were at work side by side: then it is
        better to name one of them than another program.
        """
        beside = (self._started[name] for name in self._delegated)
        since = min([started, *beside, *filter(None, self._programs.values())])
        files = event.files_changed if isinstance(event, ActionObserved) else ()
        return SnapshotRequest("action", event.action_id, contents_of(files), since)
