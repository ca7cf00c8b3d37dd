"""What a run still allows the sub-agents that work for it: what they spend counts in its own limits as it is told."""

from __future__ import annotations

from dataclasses import replace

from workbench.errors import WorkbenchError
from workbench.session.limits.limits import Limits
from workbench.session.log import Journal


class NothingLeft(WorkbenchError):
    """The run has come to a limit: no sub-agent is started any more."""


class Allowance:
    """Of one session; asked by threads of sub-agents."""

    def __init__(self, limits: Limits, journal: Journal) -> None:
        self._limits = limits
        self._journal = journal

    def over(self) -> str:
        """The limit that is reached, in words; empty when there is none."""
        return self._limits.over(self._journal.ledger, self._journal.tokens)

    def of(self, usual: Limits, *, goes_on: bool = False) -> Limits:
        """The limits of a sub-agent; it looks at those of the run too, which what it spends counts in.

        Of one that goes on with its work only those count: its own tokens are among what the run has spent.
        """
        has_own = self._limits.token_limit and not goes_on
        left = max(1, self._limits.token_limit - self._journal.tokens.spent) if has_own else 0
        return replace(usual, token_limit=left, max_cost=0, above=self.over)

    def steps(self, wanted: int) -> int:
        """The calls of the model a sub-agent may make, not more than the run itself has left. Raises NothingLeft."""
        over = self.over()
        if over:
            raise NothingLeft(f"nothing is left for it, the run {over}")
        return min(wanted, self._limits.steps_left(self._journal.ledger))
