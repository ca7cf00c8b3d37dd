"""The route of a model's requests: the interface of both routes, and what both need to know about a call."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

from workbench.config.settings import Profile
from workbench.llm.discovery import takes_usual_key, usual_openai_key
from workbench.llm.exchange import Chunk
from workbench.llm.model import ModelRequest
from workbench.llm.retry import Patience

_PRICES = {
    "input": "input_cost_per_token",
    "output": "output_cost_per_token",
    "cached": "cache_read_input_token_cost",
    "written": "cache_creation_input_token_cost",
}


class Tuning(msgspec.Struct, frozen=True):
    """The settings of a saved model that affect its calls: parameters, prices and context window."""

    parameters: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """Parameters of each call, by OpenAI's names."""
    overrides: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """Fields that override those of the model's entry in the price table."""

    def of(self, request: ModelRequest) -> dict[str, Any]:
        """Return the parameters of one call. Those of the request override the settings, but of two limits for tokens
        the lower one applies.
        """
        wished = dict(self.parameters)
        if request.max_tokens:
            wished["max_tokens"] = min(request.max_tokens, wished.get("max_tokens") or request.max_tokens)
        if request.temperature is not None:
            wished["temperature"] = request.temperature
        return wished

    def over(self, listed: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """Return the price table's entry with the overrides, or None if there is neither."""
        return {**(listed or {}), **self.overrides} if self.overrides or listed is not None else None


def tuning_of(profile: Profile) -> Tuning:
    """Return the tuning that a saved model's settings describe."""
    wished = {
        "temperature": profile.temperature,
        "reasoning_effort": profile.reasoning_effort,
        "max_tokens": profile.max_output_tokens,
    }
    overrides: dict[str, Any] = {}
    if profile.context_window:
        overrides["max_input_tokens"] = profile.context_window
    if profile.price:
        per_million = {entry: profile.price.get(name) for name, entry in _PRICES.items()}
        overrides |= {entry: None if price is None else price / 1e6 for entry, price in per_million.items()}
        overrides["price_is_set"] = True
    return Tuning({name: value for name, value in wished.items() if value is not None}, overrides)


@dataclass(frozen=True)
class Target:
    """A model with the URL of its server, its key, and the settings of its calls."""

    name: str
    api_base: str | None = None
    api_key: str | None = None
    patience: Patience = field(default_factory=Patience)
    tuning: Tuning = field(default_factory=Tuning)

    def key_for(self, provider: str, base: str | None) -> str | None:
        """Return the key to send to the provider at this URL; None if the client library is to use the provider's key
        from the environment.

        A server without a configured key gets a placeholder, never a provider's key.
        """
        if self.api_key:
            return self.api_key
        if self.api_base:
            return None if takes_usual_key(self.api_base, provider) else "none"
        is_elsewhere = provider == "openai" and base and not usual_openai_key()
        return "none" if is_elsewhere else None


class Route(Protocol):
    """How the requests of one model reach its server: directly, or through litellm."""

    @property
    def base(self) -> str | None:
        """The server's URL; None for a provider's own. Raises Fault if the provider is unknown."""

    @property
    def listed(self) -> Mapping[str, Any] | None:
        """The price table's entry for the model, or None. Raises Fault if the provider is unknown."""

    def stream(self, request: ModelRequest) -> Generator[Chunk | None]:
        """Send a request and yield the chunks of its response in OpenAI's format.

        May finally yield None: then the response is complete, and resuming the generator reads the connection to its
        end for reuse. Raises Fault, or an exception that `fault_of` classifies.
        """

    def open_early(self) -> None:
        """Open the connection in the background, so that the first request need not wait for it."""


def options_of(request: ModelRequest) -> dict[str, Any]:
    """Return the request's tools, tool choice and stop sequences as OpenAI's fields; defaults are omitted."""
    stop = {"stop": list(request.stop)} if request.stop else {}
    if not request.tools:
        return stop
    choice = {} if request.tool_choice == "auto" else {"tool_choice": request.tool_choice}
    return {"tools": list(request.tools), **choice, **stop}
