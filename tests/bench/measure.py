"""One measured number with its limit or reference; every bench returns a list of them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Measure:
    """`reference` was measured in the same run; `budget` is in the same unit; None where there is none."""

    name: str
    value: float
    unit: str
    reference: float | None
    budget: float | None
    ok: bool
