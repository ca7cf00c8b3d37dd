"""One measured number with its limit or reference; every bench returns a list of them."""

from __future__ import annotations

import msgspec


class Measure(msgspec.Struct, frozen=True):
    """`reference` was measured in the same run; `budget` is in the same unit; None where there is none."""

    name: str
    value: float
    unit: str
    reference: float | None
    budget: float | None
    ok: bool

    @property
    def ratio(self) -> float | None:
        """The value as a multiple of the reference; None without one."""
        return self.value / self.reference if self.reference else None

    @property
    def compared(self) -> float:
        """What is compared between two runs: the ratio, which depends least on the machine, or else the value."""
        return self.value if self.ratio is None else self.ratio
