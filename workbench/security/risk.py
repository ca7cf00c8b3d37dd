"""How dangerous an action is: the rating of the model and the local one made into one; used by the session."""

from __future__ import annotations

from typing import Literal, TypeAlias

Risk: TypeAlias = Literal["LOW", "MEDIUM", "HIGH", "UNKNOWN"]

_HEIGHT: dict[Risk, int] = {"UNKNOWN": 0, "LOW": 1, "MEDIUM": 2, "HIGH": 3}


def effective(model: Risk, local: Risk | None) -> Risk:
    """The higher of both ratings; a local rating never lowers the model's, and UNKNOWN is left when nobody knows."""
    return model if local is None else higher(model, local)


def higher(one: Risk, other: Risk) -> Risk:
    """The higher of two ratings; UNKNOWN is the lowest."""
    return one if _HEIGHT[one] >= _HEIGHT[other] else other
