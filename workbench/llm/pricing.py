"""Costs and context windows from a price table.

A missing price or window, or a 0 in the table, means unknown; only a 0 that the user set means free.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.lazy_pattern import lazy_pattern
from workbench.protocol.usage import Usage


def cost_of(usage: Usage, prices: Mapping[str, Any] | None) -> float | None:
    """Return the cost in US dollars, or None if a price or a count is unknown.

    Input read from the provider's cache, and input written to it, has a price of its own if the table has one.
    """
    if usage.input is None or usage.output is None:
        return None
    table = _of_length(usage.input, prices or {})
    rates = prices_of(table)
    if rates is None:
        return None
    per_input, per_output = rates
    cached = min(usage.cached or 0, usage.input)
    written = min(usage.written or 0, usage.input - cached)
    per_cached, per_written = (_price(table, f"cache_{what}_input_token_cost") for what in ("read", "creation"))
    read = cached * (per_input if per_cached is None else per_cached)
    written_cost = written * (per_input if per_written is None else per_written)
    return (usage.input - cached - written) * per_input + read + written_cost + usage.output * per_output


_LONG = lazy_pattern(r"_above_(\d+)k_tokens$")


def _of_length(length: int, prices: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the prices for a request with `length` input tokens; some providers charge more for long requests."""
    if prices.get("price_is_set"):
        return prices
    longer = [(int(match[1]), name) for name in prices if (match := _LONG.search(name))]
    steps = sorted(step for step in longer if step[0] * 1000 < length)
    return {**prices, **{_LONG.sub("", name): prices[name] for _, name in steps if _price(prices, name) is not None}}


def prices_of(prices: Mapping[str, Any] | None) -> tuple[float, float] | None:
    """Return the prices of an input and an output token in US dollars, or None if one of them is unknown."""
    per_input, per_output = _price(prices, "input_cost_per_token"), _price(prices, "output_cost_per_token")
    return None if per_input is None or per_output is None else (per_input, per_output)


def window_of(prices: Mapping[str, Any] | None) -> int | None:
    """Return the context window in tokens, or None if the table has none."""
    tokens = _price(prices, "max_input_tokens")
    return None if tokens is None else int(tokens)


def _price(prices: Mapping[str, Any] | None, name: str) -> float | None:
    value = (prices or {}).get(name)
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    is_free = value == 0 and bool((prices or {}).get("price_is_set"))
    return float(value) if value > 0 or is_free else None


def calls_no_tools(listed: Mapping[str, Any] | None) -> bool:
    """Return whether this entry of the table is that of a chat model without tool calling; False if there is none."""
    return listed is not None and listed.get("mode") == "chat" and not listed.get("supports_function_calling")
