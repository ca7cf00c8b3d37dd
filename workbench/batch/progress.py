"""What is shown of a run while it goes on: a line for each outcome, and in a terminal a view that changes in place."""

from __future__ import annotations

import json
import math
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from workbench.batch.attempt import AttemptOutcome, TaskAttempt
from workbench.batch.figures import duration, money
from workbench.text import counted, visible

_MARKS: Final = {"solved": "✓", "done": "✓", "unsolved": "✗", "question": "?", "limit": "!", "interrupted": "!"}
_GOOD: Final = ("solved", "done")
_ROWS: Final = 4
"""The most running attempts, and the most failures, in the view."""
_BAR: Final = 24
_FEWEST: Final = 5
"""The outcomes from which the remaining time is estimated."""


class RunningAttempt(msgspec.Struct, frozen=True):
    """An attempt that was handed out, and when, in the seconds of `time.monotonic`."""

    attempt: TaskAttempt
    since: float


def outcome_line(outcome: AttemptOutcome, *, as_json: bool) -> str:
    """Return a line about an attempt that has ended."""
    if as_json:
        return json.dumps({**msgspec.to_builtins(outcome), "state": outcome.state})
    mark = _MARKS.get(outcome.state, "✗")
    detail = f"   {visible(outcome.detail, lines=False)}" if outcome.detail else ""
    name = _name(*outcome.names)
    spent = f"{counted(outcome.steps, 'step')}  {money(outcome.cost, outcome.unpriced)}"
    return f"{mark} {outcome.state:<9} {name}   {spent}  {duration(outcome.total_seconds)}{detail}"


def _name(task: str, model: str, number: int) -> str:
    return visible(f"{task}  {model} #{number}", lines=False)


class Progress:
    """The progress of one client's part of a run."""

    def __init__(
        self,
        total: int,
        running: Mapping[str, RunningAttempt],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`total` attempts are to be made; `running` always has those that run now."""
        self._total = total
        self._running = running
        self._clock = clock
        self._began = clock()
        self._outcomes: list[AttemptOutcome] = []
        self._states: Counter[str] = Counter()
        self._cost = 0.0

    def add(self, outcome: AttemptOutcome) -> None:
        """Count an attempt that has ended."""
        self._outcomes.append(outcome)
        self._states[outcome.state] += 1
        self._cost += outcome.cost

    def lines(self, width: int) -> list[str]:
        """Return the view, at most `width` cells wide."""
        done = len(self._outcomes)
        filled = round(_BAR * done / self._total) if self._total else _BAR
        states = " · ".join(f"{count} {state}" for state, count in self._states.most_common())
        head = f"{'█' * filled}{'░' * (_BAR - filled)}  {done} of {self._total}   {states}   ${self._cost:.2f}"
        lines = [head, self._pace(), *self._running_lines(), *self._failure_lines()]
        return [_cut(line, width) for line in lines if line]

    def _pace(self) -> str:
        """Return the time so far, the rate, and how long the rest may take."""
        passed = self._clock() - self._began
        parts = [duration(passed)]
        if self._outcomes and passed > 0:
            parts.append(f"{60 * len(self._outcomes) / passed:.1f} a minute")
        remaining = self._total - len(self._outcomes)
        if remaining and len(self._outcomes) >= _FEWEST:
            low, high = remaining_seconds([each.total_seconds for each in self._outcomes], remaining, self._parallel)
            parts.append(f"{duration(low)} to {duration(high)} left")
        return " · ".join(parts)

    @property
    def _parallel(self) -> int:
        return max(1, len(self._running))

    def _running_lines(self) -> Iterator[str]:
        """Yield the attempts that have been running longest."""
        longest = list(self._running.values())  # a copy: the view is drawn in a thread of its own
        longest.sort(key=lambda each: each.since)
        now = self._clock()
        for each in longest[:_ROWS]:
            yield f"● {_name(*each.attempt.names)}   {duration(now - each.since)}"
        if len(longest) > _ROWS:
            yield f"  and {len(longest) - _ROWS} more"

    def _failure_lines(self) -> Iterator[str]:
        """Yield the newest attempts that did not succeed, the latest first."""
        failures = [each for each in self._outcomes if each.state not in _GOOD]
        for each in failures[: -_ROWS - 1 : -1]:
            mark, words = _MARKS.get(each.state, "✗"), (f"{each.task} #{each.attempt}", each.detail, each.model)
            # The reason comes before the model, whose name may be long, because the line may be cut.
            yield visible(f"{mark} {each.state:<9} {'   '.join(filter(None, words))}", lines=False)


def remaining_seconds(durations: Sequence[float], remaining: int, parallel: int) -> tuple[float, float]:
    """Return the range, in seconds, in which `remaining` attempts will probably have ended.

    It is the mean of the durations so far, plus and minus twice the standard error of their sum.
    """
    mean = statistics.fmean(durations)
    spread = statistics.stdev(durations) if len(durations) > 1 else mean
    error = 2 * spread * math.sqrt(remaining + remaining**2 / len(durations))
    return max(0.0, (remaining * mean - error) / parallel), (remaining * mean + error) / parallel


def _cut(line: str, width: int) -> str:
    return line if len(line) <= width else line[: max(0, width - 1)] + "…"
