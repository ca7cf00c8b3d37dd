"""The statistics of reports: how exact a share is, and whether a difference may be chance."""

from __future__ import annotations

from collections.abc import Iterable
from math import sqrt
from statistics import median
from typing import Final

_Z: Final = 1.959963984540054
"""The 97.5% quantile of the standard normal distribution."""


def wilson(rate: float, n: int) -> tuple[float, float]:
    """Return the 95% confidence interval of a share that was measured as `rate`, from 0 to 1, on `n` samples.

    This is the score interval of E. B. Wilson, "Probable inference, the law of succession, and statistical inference",
    Journal of the American Statistical Association 22 (1927), 209-212, without a correction for continuity. Without
    samples it is all from 0 to 1.
    """
    if n == 0:
        return 0.0, 1.0
    square = _Z * _Z
    center = (rate + square / (2 * n)) / (1 + square / n)
    half = _Z / (1 + square / n) * sqrt(rate * (1 - rate) / n + square / (4 * n * n))
    # At rates of 0 and 1 one end is the rate itself, which rounding may miss.
    return max(0.0, min(center - half, rate)), min(1.0, max(center + half, rate))


def sign_test(better: int, worse: int) -> float:
    """Return the probability that chance alone leads to a split at least as uneven as this, in either direction.

    The exact two-sided sign test of W. J. Dixon and A. M. Mood, "The statistical sign test", Journal of the American
    Statistical Association 41 (1946), 557-566: twice the tail of a binomial distribution with p = 1/2. Pairs without
    a difference are not counted.
    """
    n = better + worse
    term = tail = 1
    for i in range(min(better, worse)):
        term = term * (n - i) // (i + 1)
        tail += term
    # Both are whole numbers of any size, which Python divides exactly.
    return min(1.0, 2 * tail / (1 << n))


def median_of(values: Iterable[float]) -> float | None:
    """Return the median; None without values."""
    numbers = list(values)
    return float(median(numbers)) if numbers else None


def mean_of(values: Iterable[float]) -> float | None:
    """Return the arithmetic mean; None without values."""
    numbers = list(values)
    return sum(numbers) / len(numbers) if numbers else None
