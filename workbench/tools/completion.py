"""The way of a tool to a model: one question outside of the conversation; whoever opens the tools gives it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from workbench.errors import WorkbenchError


@dataclass(frozen=True)
class Answer:
    """What the model said and what that took; `None` where it is not known, `cost` in US dollars."""

    text: str
    model: str = ""
    cost: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


class CompletionError(WorkbenchError):
    """There is no whole answer: the call failed, was interrupted, or broke off; the message says which."""


class Completion(Protocol):
    """A model that answers one question at a time."""

    def __call__(self, prompt: str) -> Answer:
        """The whole answer; raises CompletionError."""

    def interrupt(self) -> None:
        """End the running call soon; called from another thread."""


class NoModel:
    """The completion where tools are only shown and nobody can be asked."""

    def __call__(self, prompt: str) -> Answer:
        """Raises CompletionError."""
        raise CompletionError("There is no model here to ask.")

    def interrupt(self) -> None:
        """Nothing runs."""
