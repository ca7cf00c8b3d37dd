"""The tool `delegate`: a sub-agent works on a part of the task; its final message is the result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from workbench.errors import WorkbenchError
from workbench.text import first_line
from workbench.tools.context import ConversationState, Delegation
from workbench.tools.executor import ToolExecutor
from workbench.tools.schema import Action, Observation
from workbench.tools.tool import DeclaredTool, ToolAnnotations

MAX_STEPS = 50
"""The default limit of a sub-agent's model calls."""
_DESCRIPTION = """Give a part of the task to a sub-agent. It has the same directory and tools (but this one), knows
nothing of this conversation, and its final message is the result. Use it for independent parts that would fill this
conversation with what you need not keep: a long search, a review, a change in a corner of its own. Write in `inputs`
all it must know: the goal, the files, what not to touch, what to report. Several calls in one answer run side by side,
so give them parts that do not change the same files. What it does is asked about as if you did it."""
_KINDS = """These kinds of sub-agents have instructions and tools of their own; any other name stands for one with
your tools:"""
_SHORT_KINDS = "Kinds with tools of their own: {names}; any other name stands for one with your tools."
_SHORT = "Give an independent part of the task to a sub-agent; `inputs` says all it must know."

_MOST_DESCRIBED, _MOST_NAMES = 4_000, 600
"""The most characters of all kinds' descriptions, and of their names in the short form of the tool's description, which
some models limit to 1,024.
"""

_Steps = Annotated[int, Field(ge=1)]
_Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class AgentDelegateAction(Action):
    """A task for a sub-agent."""

    agent: Annotated[_Text, StringConstraints(max_length=40)] = Field(
        description="The kind of sub-agent, such as `reviewer`, or a short name that says what it is for."
    )
    inputs: _Text = Field(description="The task, complete in itself.")


class AgentDelegateObservation(Observation):
    """The sub-agent's final message, or the error."""

    agent: str = ""
    session: str = ""
    """The ID of the sub-agent's log."""
    definition: str = ""
    """Where the kind of the sub-agent is defined, and the kind's properties."""


class DelegateTool(DeclaredTool[AgentDelegateAction, AgentDelegateObservation]):
    """Starts sub-agents through `delegation`; each of their actions is decided separately."""

    name = "delegate"
    description = _DESCRIPTION
    short_description = _SHORT
    action_type = AgentDelegateAction
    observation_type = AgentDelegateObservation
    # The call itself changes nothing; each action of the sub-agent is assessed.
    annotations = ToolAnnotations.reading("Delegate", idempotent=False)

    @classmethod
    def create(
        cls, conv_state: ConversationState, max_steps: _Steps = MAX_STEPS, **params: Any
    ) -> Sequence[DelegateTool]:
        """Return the tool for a session; `max_steps` limits the run of a sub-agent."""
        return (cls(getattr(conv_state, "delegation", None), max_steps=max_steps, **params),)

    def __init__(self, delegation: Delegation | None = None, *, max_steps: int = MAX_STEPS) -> None:
        super().__init__(DelegateExecutor(delegation, max_steps))
        kinds = delegation.kinds if delegation is not None else {}
        if kinds:
            self.description = f"{_DESCRIPTION}\n{_KINDS}\n{_listed(kinds)}"
            names = first_line(", ".join(kinds), _MOST_NAMES)
            self.short_description = f"{_SHORT} {_SHORT_KINDS.format(names=names)}"


def _listed(kinds: Mapping[str, str]) -> str:
    """Return a line for each kind; without its description once `_MOST_DESCRIBED` characters are used."""
    lines: list[str] = []
    for name, about in kinds.items():
        fits = sum(map(len, lines)) + len(about) <= _MOST_DESCRIBED
        lines.append(f"- {name}: {about}" if fits else f"- {name}")
    return "\n".join(lines)


_NONE_HERE = "There are no sub-agents here. Do the task yourself."


class DelegateExecutor(ToolExecutor[AgentDelegateAction, AgentDelegateObservation]):
    """Runs sub-agents; concurrent calls start several."""

    side_by_side = True
    # A sub-agent first interrupts its own call. Then its tools are closed, and the program of another agent, which may
    # neither answer nor react to signals, is ended.
    stop_seconds = 20.0

    def __init__(self, delegation: Delegation | None, max_steps: int) -> None:
        self._delegation = delegation
        self._max_steps = max_steps

    def __call__(self, action: AgentDelegateAction) -> AgentDelegateObservation:
        """Run a sub-agent and return its final message."""
        if self._delegation is None:
            return AgentDelegateObservation.from_text(_NONE_HERE, is_error=True)
        try:
            ended = self._delegation(action.agent, action.inputs, self._max_steps)
        except WorkbenchError as error:
            return AgentDelegateObservation.from_text(f"The sub-agent could not be started: {error}", is_error=True)
        return AgentDelegateObservation.from_text(
            ended.text,
            is_error=ended.is_error,
            agent=ended.agent or action.agent,
            session=ended.session,
            definition=ended.definition,
        )

    def interrupt(self) -> None:
        """End all sub-agents of the session."""
        if self._delegation is not None:
            self._delegation.interrupt()
