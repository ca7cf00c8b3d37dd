"""Asks through a function; in a session nothing runs, because the person's answer is recorded as the result."""

from __future__ import annotations

from collections.abc import Callable

from workbench.tools.ask_human.definition import AskHumanAction, AskHumanObservation
from workbench.tools.executor import ToolExecutor

_NOBODY = "Nobody is there to answer. Decide by what the files say, and name in your final message what you assumed."


class AskHumanExecutor(ToolExecutor[AskHumanAction, AskHumanObservation]):
    """The answer of whoever `ask` reaches."""

    def __init__(self, ask: Callable[[AskHumanAction], str] | None) -> None:
        self._ask = ask

    def __call__(self, action: AskHumanAction) -> AskHumanObservation:
        """The answer; an error where there is nobody to ask."""
        if self._ask is None:
            return AskHumanObservation.from_text(_NOBODY, is_error=True)
        return AskHumanObservation.from_text(self._ask(action))
