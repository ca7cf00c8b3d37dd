"""Limits how often a model is called, over all workers of a run: each call waits for its turn.

The turns are in a variable of the scheduler, under a lock of it, so a worker that is lost delays nobody for long.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from workbench.config.settings import Settings
from workbench.llm.model import Cancel, Delta, Model, ModelRequest, ModelResponse
from workbench.session.model_keys import SessionModels


class Turns(Protocol):
    """Hands out the times at which models may be called."""

    def next_turn(self, model: str) -> float:
        """Return for how many seconds to wait before calling a model; 0 if it has no limit."""

    def delay(self, model: str, seconds: float) -> None:
        """Let no call of a limited model begin for some seconds, because its provider asks for that."""


class RatedModels(SessionModels):
    """The models of the settings; each call waits for its turn, if there is a limit."""

    def __init__(self, settings: Settings, turns: Turns | None, variables: Mapping[str, str]) -> None:
        """`variables` are those with which the process began: a later attempt needs the keys that this one removes."""
        env = dict(variables)
        super().__init__(settings, env)
        for name in variables.keys() - env.keys():
            os.environ.pop(name, None)
        self._turns = turns

    def open_alone(self, name: str | None) -> Model:
        """Open the model with this name, without its fallback models. Raises ModelError."""
        model = super().open_alone(name)
        return _RatedModel(model, name or "", self._turns) if self._turns is not None else model


class _RatedModel:
    """A model whose calls wait for their turns."""

    def __init__(self, model: Model, name: str, turns: Turns) -> None:
        self.name = model.name
        self._model = model
        self._name = name
        self._turns = turns

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def respond(self, request: ModelRequest, on_delta: Callable[[Delta], None], cancel: Cancel) -> ModelResponse:
        """Call the model when it is its turn, or at once if the call is canceled.

        If the provider asks to wait, the calls of all workers wait.
        """

        def pass_on(delta: Delta) -> None:
            if delta.wait:
                self._turns.delay(self._name, delta.wait)
            on_delta(delta)

        if pause := self._turns.next_turn(self._name):
            cancel.wait(pause)
        return self._model.respond(request, pass_on, cancel)


def rates_of(words: list[str]) -> Mapping[str, float]:
    """Return the calls a minute in words such as `MODEL=60/min`. Raises ValueError with the word that is wrong."""
    rates = {}
    for word in words:
        model, equals, rate = word.rpartition("=")
        number = rate.removesuffix("/min")
        try:
            rates[model] = float(number)
        except ValueError:
            rates[model] = 0.0
        if not (equals and model and 0 < rates[model] < float("inf")):
            raise ValueError(word)
    return rates
