"""The outcome of a run, collected from the events of its session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from workbench.protocol.events import Event, ModelAsked, ModelResponded, RunEnd, RunEnded
from workbench.session.final_answer import FinalAnswer

Reason: TypeAlias = Literal["question"] | RunEnd


@dataclass(frozen=True)
class RunResult:
    """The outcome of a run.

    `text` is the agent's final answer. `reason` is "finished" (a special tool ended the run), "waiting" (the model
    answered with text), "question" (an action needs an approval), "limit", "stuck", "interrupted" or "error"; `detail`
    says more. `steps` counts model calls. `cost` is in US dollars, without calls whose price is unknown.
    """

    text: str
    reason: Reason
    detail: str = ""
    steps: int = 0
    cost: float = 0.0
    tokens: int = 0
    session_id: str = ""

    @property
    def is_done(self) -> bool:
        """Whether the agent itself ended the run, with its final answer."""
        return self.reason in ("finished", "waiting")

    def __str__(self) -> str:
        return self.text if self.is_done else f"[{self.reason}] {self.detail or self.text}".rstrip()


class RunRecord:
    """Accumulates the outcome of the current run from its events."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Reset the record for a new run."""
        self._answer, self._detail = FinalAnswer(), ""
        self._steps, self._tokens, self._cost = 0, 0, 0.0

    def apply(self, event: Event) -> None:
        """Add the next event of the session."""
        self._answer.apply(event)
        match event:
            case ModelResponded():
                self._steps += 1
                self._cost += event.cost or 0.0
                self._tokens += (event.usage.input or 0) + (event.usage.output or 0)
            case ModelAsked():
                self._cost += event.cost or 0.0
            case RunEnded():
                self._detail = event.detail

    def result(self, reason: Reason, session_id: str, detail: str = "") -> RunResult:
        """Return the outcome so far."""
        return RunResult(
            text=self._answer.text,
            reason=reason,
            detail=detail or self._detail,
            steps=self._steps,
            cost=self._cost,
            tokens=self._tokens,
            session_id=session_id,
        )
