"""Runs a sub-agent to its end, in the thread of the call."""

from __future__ import annotations

from workbench.errors import WorkbenchError
from workbench.tools.delegate.definition import AgentDelegateAction, AgentDelegateObservation
from workbench.tools.delegation import Delegation
from workbench.tools.executor import ToolExecutor

_NONE_HERE = "There are no sub-agents here. Do the task yourself."


class DelegateExecutor(ToolExecutor[AgentDelegateAction, AgentDelegateObservation]):
    """Several calls at once are several sub-agents."""

    side_by_side = True

    def __init__(self, delegation: Delegation | None, max_steps: int) -> None:
        self._delegation = delegation
        self._max_steps = max_steps

    def __call__(self, action: AgentDelegateAction) -> AgentDelegateObservation:
        """The sub-agent's final message."""
        if self._delegation is None:
            return AgentDelegateObservation.from_text(_NONE_HERE, is_error=True)
        try:
            ended = self._delegation(action.agent, action.inputs, self._max_steps)
        except WorkbenchError as error:
            return AgentDelegateObservation.from_text(f"The sub-agent could not be started: {error}", is_error=True)
        return AgentDelegateObservation.from_text(
            ended.text, is_error=ended.is_error, agent=action.agent, session=ended.session
        )

    def interrupt(self) -> None:
        """End all sub-agents of the session."""
        if self._delegation is not None:
            self._delegation.interrupt()
