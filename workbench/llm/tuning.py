"""What a profile sets of a model: parameters of its calls, prices and window; used by `router` and `client`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.config.settings import Profile
from workbench.llm.model import ModelRequest

_PRICES = {
    "input": "input_cost_per_token",
    "output": "output_cost_per_token",
    "cached": "cache_read_input_token_cost",
}


@dataclass(frozen=True)
class Tuning:
    """Nothing set, as a rule."""

    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Parameters of each call, by litellm's names."""
    known: Mapping[str, Any] = field(default_factory=dict)
    """Entries that count before those of the price table."""

    def of(self, request: ModelRequest) -> dict[str, Any]:
        """The parameters of one call: what a request wants counts, but never for more tokens than the person set."""
        wished = dict(self.parameters)
        if request.max_tokens:
            wished["max_tokens"] = min(request.max_tokens, wished.get("max_tokens") or request.max_tokens)
        if request.temperature is not None:
            wished["temperature"] = request.temperature
        return wished

    def over(self, listed: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """The price table's entry with what is set over it; None where nothing is known."""
        return {**(listed or {}), **self.known} if self.known or listed is not None else None


def tuning_of(profile: Profile) -> Tuning:
    """The tuning that a profile asks for."""
    wished = {
        "temperature": profile.temperature,
        "reasoning_effort": profile.reasoning_effort,
        "max_tokens": profile.max_output_tokens,
    }
    known: dict[str, Any] = {}
    if profile.context_window:
        known["max_input_tokens"] = profile.context_window
    if profile.price:
        per_million = {entry: profile.price.get(name) for name, entry in _PRICES.items()}
        known |= {entry: None if price is None else price / 1e6 for entry, price in per_million.items()}
        known["price_is_set"] = True
    return Tuning({name: value for name, value in wished.items() if value is not None}, known)
