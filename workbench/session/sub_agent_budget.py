"""The budget of sub-agents: what remains of the limits of the run that started them."""

from __future__ import annotations

from dataclasses import replace

from workbench.errors import WorkbenchError
from workbench.session.limits import Limits, TokenCount
from workbench.session.state import State


class BudgetExhausted(WorkbenchError):
    """The run has reached a limit: no more sub-agents are started."""


class Budget:
    """The part of a session's limits that remains for its sub-agents, which query it from their own threads."""

    def __init__(self, limits: Limits, state: State, tokens: TokenCount) -> None:
        self._limits = limits
        self._state = state
        self._tokens = tokens

    def over(self) -> str:
        """Describe the limit that the run has reached; empty if there is none."""
        return self._limits.over(self._state, self._tokens)

    def of(self, usual: Limits, *, goes_on: bool = False) -> Limits:
        """Return a sub-agent's limits. They include the limits of the run, because its spending is part of the run's.

        A resumed sub-agent has only the limits of the run: its earlier tokens are already included in them.
        """
        has_own = self._limits.token_limit and not goes_on
        remaining = max(1, self._limits.token_limit - self._tokens.spent) if has_own else 0
        return replace(usual, token_limit=remaining, max_cost=0, above=self.over)

    def steps(self, requested: int) -> int:
        """Return how many model calls a sub-agent may make: `requested`, or fewer if the run has fewer left.

        Raises BudgetExhausted if the run has reached a limit.
        """
        over = self.over()
        if over:
            raise BudgetExhausted(f"nothing is left for it, the run {over}")
        return min(requested, self._limits.remaining_steps(self._state))
