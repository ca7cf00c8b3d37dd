"""Questions to the user during a running call: the call's thread waits, and the session passes the user's commands
on.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from workbench.protocol.events import Verdict
from workbench.session.actions.decide import CommandError


class CallQuestion(ABC):
    """A question that waits for the user; it takes the same commands as a session."""

    def __init__(self, action_id: str) -> None:
        self.action_id = action_id
        self.verdict: Verdict | None = None
        """The user's decision; None while there is none, and if the question was withdrawn or timed out."""
        self._done = threading.Event()

    def answer(self, action_id: str, text: str) -> None:
        """Accept the user's answer; raises CommandError here, because only some kinds of questions take an answer."""
        raise CommandError("this needs a decision, not an answer")

    @abstractmethod
    def decide(self, action_id: str, verdict: Verdict, *, fingerprint: str, **fields: Any) -> None:
        """Accept the user's decision. Raises CommandError."""

    def wait(self, seconds: float | None = None) -> None:
        """Wait until the question is answered, decided or withdrawn, at most `seconds`; None means without a limit."""
        self._done.wait(seconds)

    def withdraw(self) -> None:
        """End the wait without a decision, because it is no longer needed."""
        self._done.set()

    def _finish(self, verdict: Verdict) -> None:
        self.verdict = verdict
        self._done.set()


Question = TypeVar("Question", bound=CallQuestion)


class WaitingQuestions(Generic[Question]):
    """The open questions of one kind in a session; its methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[str, Question] = {}

    def command(self, action_id: str, apply: Callable[[Question, str], None]) -> bool:
        """Apply a command to the question with that id; return False if there is none. Raises CommandError."""
        with self._lock:
            question = self._open.get(action_id)
        if question is None:
            return False
        apply(question, action_id)
        return True

    def open(self, question: Question) -> None:
        """Add a question that now waits for the user."""
        with self._lock:
            self._open[question.action_id] = question

    def closed(self, question: Question) -> None:
        """Remove a question that no longer waits."""
        with self._lock:
            self._open.pop(question.action_id, None)
