"""Risk levels and approval modes."""

from __future__ import annotations

from typing import Literal, TypeAlias

Risk: TypeAlias = Literal["LOW", "MEDIUM", "HIGH", "UNKNOWN"]
Mode: TypeAlias = Literal["plan", "ask", "medium", "edits", "high", "never"]
"""When the user is asked; `workbench.config.modes` has the names and what each mode asks about."""

OUTSIDE_SANDBOX = "outside the sandbox"
"""The name of the part of a command's rating that is about leaving the sandbox."""
_HEIGHT: dict[Risk, int] = {"UNKNOWN": 0, "LOW": 1, "MEDIUM": 2, "HIGH": 3}


def effective(model: Risk, local: Risk | None) -> Risk:
    """Return the higher of the model's and the local rating: a local rating never lowers the model's. None is no
    rating.
    """
    return model if local is None else higher(model, local)


def higher(one: Risk, other: Risk) -> Risk:
    """Return the higher of two ratings; UNKNOWN is the lowest."""
    return one if _HEIGHT[one] >= _HEIGHT[other] else other
