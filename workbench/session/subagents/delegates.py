"""Sub-agents: each is a session of its own, with its own log, that is driven inside an action of its parent.

What it does is also told in the parent's log, so that one screen shows both and can answer for both. The ids of its
actions are `session:action` there, by which a decision finds its way back.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from workbench.protocol.risk import Mode
from workbench.session.actions.decide import Refused
from workbench.session.actions.run import CALL_PLACE
from workbench.session.session import Session
from workbench.session.subagents.sub_agent import Starter, SubAgent
from workbench.tools.delegation import Delegated

_NOT_BEGUN = "The sub-agent was not started: the run was stopped."

_NOT_YET = "the sub-agent is only just being opened again; answer once more"
_OPENING = 10.0
"""Seconds an answer waits for the sub-agent it is for."""


class Delegates:
    """The sub-agents of one session; the `delegation` of its tools, and the way of decisions to them."""

    def __init__(self) -> None:
        self.on_wait: Callable[[], None] = lambda: None
        """Called from any thread when `waiting` may have changed."""
        self._start: Starter | None = None
        self._expected: set[str] = set()  # sessions of those that go on with their work, not open yet
        self._is_left = False
        self._stop_reason = ""
        self._changed = threading.Condition()
        self._starting = threading.Lock()
        self._working: list[SubAgent] = []

    def use(self, start: Starter, expected: Iterable[str] = ()) -> None:
        """Start them so from here on (the tools of a session are opened before it is); the `expected` will go on."""
        self._start = start
        self._expected.update(expected)

    def __call__(self, agent: str, task: str, max_steps: int) -> Delegated:
        """Have a sub-agent do the task, or go on with it; returns when it has come to its end."""
        one = SubAgent(agent, CALL_PLACE.get(), lambda: self.on_wait())
        with self._changed:
            self._working.append(one)
            if self._is_left:
                one.leave()
            if self._stop_reason:
                one.stop(self._stop_reason)
        try:
            with self._starting:  # opening tools is nothing for two threads at once
                if self._start is None or not one.begin(self._start, max_steps):
                    return Delegated(_NOT_BEGUN, is_error=True)
            self._expect_no_more(one)
            return one.work(task)
        finally:
            one.close()
            with self._changed:
                self._working.remove(one)
            self._expect_no_more(one)
            if self.waiting:  # the others were only waiting for this one
                self.on_wait()

    def _now(self) -> list[SubAgent]:
        with self._changed:
            return list(self._working)

    def _expect_no_more(self, one: SubAgent) -> None:
        with self._changed:
            self._expected.discard(one.id)
            self._changed.notify_all()

    def interrupt(self) -> None:
        """Stop all of them."""
        for one in self._now():
            one.interrupt()

    def stop(self, reason: str) -> None:
        """End the runs of all of them, and of those that are about to begin, before anything else starts."""
        self._stop_reason = reason
        for one in self._now():
            one.stop(reason)

    @property
    def waiting(self) -> list[SubAgent]:
        """Those that wait for the person, when none can go on without them."""
        working = self._now()
        return working if all(one.is_waiting for one in working) else []

    def leave(self) -> bool:
        """Where all wait for the person: leave their questions and calls open; whether it was so."""
        if not self.waiting and not self._expected:
            return False
        with self._changed:
            self._is_left = True
        for one in self._now():
            one.leave()
        return True

    def command(self, action_id: str, give: Callable[[Session, str], None]) -> bool:
        """Give a command about an action to the sub-agent whose it is; False when there is none. Raises Refused.

        The answer to a question of an earlier time may come before the sub-agent is there again: it waits for that.
        """
        session_id, _, its_id = action_id.partition(":")
        with self._changed:
            if not self._changed.wait_for(lambda: session_id not in self._expected, _OPENING):
                raise Refused(_NOT_YET)
        for one in self._now():
            if its_id and one.id == session_id and one.session is not None:
                one.command(lambda session: give(session, its_id))
                return True
        return False

    def set_mode(self, mode: Mode) -> None:
        """The person changed when they want to be asked."""
        for one in self._now():
            one.command(lambda session: session.set(mode=mode))
