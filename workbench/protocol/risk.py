"""Risk levels and approval modes."""

from __future__ import annotations

from typing import Literal, TypeAlias

Risk: TypeAlias = Literal["LOW", "MEDIUM", "HIGH", "UNKNOWN"]
Mode: TypeAlias = Literal["ask", "medium", "high", "never", "plan"]
"""When the user is asked: always, from MEDIUM or HIGH on, never, or (in plan mode) for everything that writes."""

_HEIGHT: dict[Risk, int] = {"UNKNOWN": 0, "LOW": 1, "MEDIUM": 2, "HIGH": 3}


def effective(model: Risk, local: Risk | None) -> Risk:
    """Return the higher of both ratings: a local rating never lowers the model's."""
    return model if local is None else higher(model, local)


def higher(one: Risk, other: Risk) -> Risk:
    """Return the higher of two ratings; UNKNOWN is the lowest."""
    return one if _HEIGHT[one] >= _HEIGHT[other] else other
