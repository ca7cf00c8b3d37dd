"""The session of an attempt: it is driven in the calling thread until the agent is done, or needs a user."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import Final

from workbench.batch.answer_wait import AnswerWait
from workbench.batch.attempt import Ending
from workbench.llm.model import Cancel
from workbench.session.session import Session
from workbench.session.session_factory import OpenedSession
from workbench.text import first_line
from workbench.tools.ask_human.question import read_question

_OUT_OF_TIME: Final = "the time limit is reached"
_SUB_AGENTS_WAIT: Final = "a sub-agent waits for an approval"
_LEAST_CHECK: Final = 0.05
"""How often a time limit is checked at most, in seconds."""


class AttemptRun:
    """Drives one session; `interrupt` may be called from any thread."""

    def __init__(self, opened: OpenedSession, cancel: Cancel, wait: AnswerWait) -> None:
        self._opened = opened
        self._wait = wait
        self._is_suspended = False
        self._is_late = False
        self._is_interrupted = False
        self._end = 0.0
        self._sub_agents = threading.Lock()
        opened.delegates.on_wait(self._on_sub_agents_wait)
        cancel.on_set(self.interrupt)

    def drive(self, prompt: str, seconds: float) -> tuple[Ending, str]:
        """Send the prompt and run for at most `seconds`, or without a limit if it is 0; waiting for the user is not
        counted.

        Returns how the run ended, and more about that if the events do not say it.
        """
        session = self._opened.session
        session.send(prompt)
        if self._is_interrupted:  # before there was a run
            self.interrupt()
        is_over = threading.Event()
        if seconds:
            self._end = time.monotonic() + seconds
            threading.Thread(target=self._end_late, args=(is_over,), daemon=True, name="time-limit").start()
        try:
            while True:
                while session.step() and not self._is_suspended:
                    pass
                if not self._continues(session):
                    return self._ending(session)
        finally:
            is_over.set()

    def _continues(self, session: Session) -> bool:
        """Wait for the user if there is something to answer; return whether the session may have more to do."""
        if self._is_suspended or session.unsaved:
            return False
        if session.phase == "deciding":
            return self._wait.for_answer(_question(session))
        if not session.ended and session.phase != "idle":
            return True  # the user has answered since the last step
        # The user may say what to do instead of what was stopped.
        return session.ended == "interrupted" and self._wait.for_message()

    def _ending(self, session: Session) -> tuple[Ending, str]:
        if session.unsaved:
            return "error", session.unsaved
        if self._is_suspended:
            return "question", _SUB_AGENTS_WAIT
        if session.phase == "deciding":
            return "question", _question(session)
        if self._is_late and session.ended == "interrupted":
            return "limit", _OUT_OF_TIME
        return _ENDINGS.get(session.ended, "error"), ""

    def interrupt(self) -> None:
        """Stop the run, or one that is still to come; everything done so far is kept."""
        self._is_interrupted = True
        self._wait.end()
        self._opened.delegates.interrupt()
        self._opened.session.interrupt()

    def _end_late(self, is_over: threading.Event) -> None:
        while (remaining := self._end + self._wait.waited - time.monotonic()) > 0:
            if is_over.wait(max(remaining, _LEAST_CHECK)):
                return
        self._is_late = True
        self.interrupt()

    def _on_sub_agents_wait(self) -> None:
        if self._opened.delegates.waiting:
            threading.Thread(target=self._wait_for_sub_agents, daemon=True, name="sub-agents-wait").start()

    def _wait_for_sub_agents(self) -> None:
        """Wait for the user while all sub-agents do; leave their questions open if no answer comes in time."""
        delegates = self._opened.delegates
        with self._sub_agents:
            while delegates.waiting:
                if not self._wait.for_answer(_SUB_AGENTS_WAIT, lambda: bool(delegates.waiting)):
                    break
            if delegates.waiting and delegates.leave():
                self._is_suspended = True


_ENDINGS: Final[dict[str, Ending]] = {
    "finished": "finished",
    "waiting": "waiting",
    "limit": "limit",
    "stuck": "stuck",
    "interrupted": "interrupted",
}


def _question(session: Session) -> str:
    """Return one line about the question that waits for a user."""
    action = session.question
    if action is None:
        return ""
    if action.asks_user:
        with suppress(ValueError):
            return first_line(f"the agent asks: {read_question(action.proposed.arguments).text}", 300)
    risk = action.assessed.risk if action.assessed is not None else "unrated"
    summary = action.proposed.summary or action.proposed.tool
    return first_line(f"{risk}: {summary} needs an approval", 300)
