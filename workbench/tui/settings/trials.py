"""Test calls of the models of a first run: one at a time, and what came of each."""

from __future__ import annotations

from workbench.client.threads import in_daemon
from workbench.engine.trial import ModelTrial, TrialOutcome
from workbench.tui.settings.providers import Way


class Trials:
    """`outcomes` has what came of each way that was tested."""

    def __init__(self) -> None:
        self.outcomes: dict[Way, TrialOutcome] = {}
        self._trial: ModelTrial | None = None

    async def ask(self, way: Way) -> TrialOutcome | None:
        """One call of it; None when another one, or the end, came between."""
        self.stop()
        trial = self._trial = ModelTrial(way.profile or way.model, way.api_base)
        outcome = await in_daemon(trial.result)
        if self._trial is not trial:
            return None
        self.outcomes[way] = outcome
        return outcome

    def stop(self) -> None:
        """End the call that is under way."""
        trial, self._trial = self._trial, None
        if trial is not None:
            trial.stop()
