"""The tool `ask_human`: the agent asks the user a question; the run waits, and the answer is the result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from pydantic import Field, StringConstraints

from workbench.tools.executor import ToolExecutor
from workbench.tools.schema import Action, Observation
from workbench.tools.tool import StatelessTool, ToolAnnotations

MOST_OPTIONS = 6
"""The most options; each of them has a key."""

_DESCRIPTION = f"""Ask the user one question and wait; the result is their answer. Ask when the task leaves open what
only they can know or choose: which of several behaviors is meant, a name, an access you do not have. Look first
whether the files answer it. Give up to {MOST_OPTIONS} short `options` where the likely answers are known, the best one
first; the user may also write something else. Never use it to get a call approved: that is asked without you."""
_SHORT = "Ask the user one question and wait for the answer; `options` are answers to choose from."

_Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class AskHumanAction(Action):
    """One question, with or without answers to choose from."""

    question: _Text = Field(description="The question, complete in itself.")
    options: list[_Text] = Field(
        default_factory=list, max_length=MOST_OPTIONS, description="Answers to choose from, a few words each."
    )


class AskHumanObservation(Observation):
    """The user's answer: their own words, or the text of the option they chose."""


class AskHumanTool(StatelessTool[AskHumanAction, AskHumanObservation]):
    """Asks the user. In a session the question is shown to the user; elsewhere `ask` returns the answer."""

    name = "ask_human"
    description = _DESCRIPTION
    short_description = _SHORT
    action_type = AskHumanAction
    observation_type = AskHumanObservation
    annotations = ToolAnnotations.reading("Ask", idempotent=False)
    asks_user = True

    def __init__(self, ask: Callable[[AskHumanAction], str] | None = None) -> None:
        super().__init__(AskHumanExecutor(ask))


_NOBODY = "No user is there to answer. Decide by what the files say, and name in your final message what you assumed."


class AskHumanExecutor(ToolExecutor[AskHumanAction, AskHumanObservation]):
    """Gets the answer from `ask`."""

    def __init__(self, ask: Callable[[AskHumanAction], str] | None) -> None:
        self._ask = ask

    def __call__(self, action: AskHumanAction) -> AskHumanObservation:
        """Return the answer, or an error if there is no user to ask."""
        if self._ask is None:
            return AskHumanObservation.from_text(_NOBODY, is_error=True)
        return AskHumanObservation.from_text(self._ask(action))
