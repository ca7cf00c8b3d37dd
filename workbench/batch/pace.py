"""How fast a run advances: the time so far, the rate, and the range in which the rest will probably have ended."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Final

import msgspec

from workbench.batch.figures import money
from workbench.durations import rough_duration, whole_duration

_FEWEST: Final = 5
"""The outcomes from which the remaining time is estimated."""


class RunPace(msgspec.Struct, frozen=True):
    """How fast a run advances; times are in seconds."""

    passed: float
    per_minute: float | None = None
    """None as long as no attempt has ended."""
    remaining: tuple[float, float] | None = None
    """The range of the remaining time; None if nothing remains or too few attempts have ended."""
    dollars: float | None = None
    """What a minute costs on average, in US dollars; None if that is not known, or nothing has been spent."""

    @property
    def parts(self) -> list[str]:
        """The figures for people, each as one text."""
        parts = [whole_duration(self.passed)]
        if self.per_minute is not None:
            parts.append(f"{self.per_minute:.1f}/min")
        if self.dollars is not None:
            parts.append(f"{money(self.dollars)}/min")
        if self.remaining is not None:
            parts.append(f"{rough_duration(self.remaining[0])} to {rough_duration(self.remaining[1])} left")
        return parts


def pace_of(durations: Sequence[float], passed: float, remaining: int, parallel: int) -> RunPace:
    """Return the pace of a run whose attempts took these seconds each, while `parallel` attempts run.

    `passed` seconds have passed since the first one of them started, and `remaining` attempts have not ended.
    """
    per_minute = 60 * len(durations) / passed if durations and passed > 0 else None
    has_range = remaining > 0 and len(durations) >= _FEWEST
    return RunPace(passed, per_minute, remaining_seconds(durations, remaining, max(1, parallel)) if has_range else None)


def dollars_a_minute(spent: float, passed: float) -> float | None:
    """Return what a minute has cost if this was spent in so many seconds; None if nothing was."""
    return 60 * spent / passed if spent > 0 and passed > 0 else None


def remaining_seconds(durations: Sequence[float], remaining: int, parallel: int) -> tuple[float, float]:
    """Return the range, in seconds, in which `remaining` attempts will probably have ended.

    It is the mean of the durations so far, plus and minus twice the standard error of their sum.
    """
    mean = statistics.fmean(durations)
    # `statistics.stdev` takes 20 times as long, and a screen shows this several times a second.
    squares = math.fsum((each - mean) ** 2 for each in durations)
    spread = math.sqrt(squares / (len(durations) - 1)) if len(durations) > 1 else mean
    error = 2 * spread * math.sqrt(remaining + remaining**2 / len(durations))
    return max(0.0, (remaining * mean - error) / parallel), (remaining * mean + error) / parallel
