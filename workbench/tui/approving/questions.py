"""When a waiting action may open its question, and what is said while it may not. Pure; asked by the main screen."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.text import counted


class QuestionDesk:
    """Knows which questions were put off or called for; `waiting` is always the list of the session state, in order."""

    def __init__(self) -> None:
        self._later: set[str] = set()
        self._called = False
        self._rung: set[str] = set()

    def next_to_open(self, waiting: Sequence[str], *, prompt_text: str, is_covered: bool) -> str | None:
        """The action whose question opens now, if any; `is_covered` says that something else is on top."""
        self._later &= set(waiting)
        self._rung &= set(waiting)
        if is_covered or not waiting:
            self._called = self._called and bool(waiting)
            return None
        if self._called:
            return waiting[0]
        first = next((action for action in waiting if action not in self._later), None)
        return None if prompt_text else first

    def answered(self, action_id: str) -> None:
        """The question has its answer; the next one of the batch may open."""
        self._later.discard(action_id)
        self._rung.discard(action_id)

    def put_off(self, waiting: Sequence[str]) -> None:
        """Escape: none of those that wait opens by itself any more."""
        self._later.update(waiting)
        self._called = False

    def call(self) -> None:
        """F8: open the questions now, whatever the prompt holds and whatever was put off."""
        self._called = True
        self._later.clear()

    @property
    def is_called(self) -> bool:
        """Whether the person asked for what waits."""
        return self._called

    def line(self, waiting: Sequence[str]) -> str:
        """What the prompt's line says about questions that are not open; empty when none waits."""
        if not waiting:
            return ""
        return f"{counted(len(waiting), 'action')} waiting · F8"

    def rings(self, waiting: Sequence[str]) -> bool:
        """Whether to ring the bell now: once for each question that could not open."""
        fresh = set(waiting) - self._rung
        self._rung |= fresh
        return bool(fresh)
