"""Test calls to models in the first run, one at a time."""

from __future__ import annotations

from workbench.client.threads import in_daemon
from workbench.engine.model_test import ModelTrial, TrialOutcome
from workbench.tui.settings.providers import Way


class Trials:
    """Makes test calls; `outcomes` holds the result for each tested model."""

    def __init__(self) -> None:
        self.outcomes: dict[Way, TrialOutcome] = {}
        self._trial: ModelTrial | None = None

    async def ask(self, way: Way) -> TrialOutcome | None:
        """Make a test call to a model and return the result, or None if the call was stopped or followed by another."""
        self.stop()
        trial = self._trial = ModelTrial(way.profile or way.model, way.api_base)
        outcome = await in_daemon(trial.result)
        if self._trial is not trial:
            return None
        self.outcomes[way] = outcome
        return outcome

    def stop(self) -> None:
        """Stop the running call, if any."""
        trial, self._trial = self._trial, None
        if trial is not None:
            trial.stop()
