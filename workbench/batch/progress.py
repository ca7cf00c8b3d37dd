"""What is shown of a run while it goes on: a line for each outcome, and in a terminal a view that changes in place."""

from __future__ import annotations

import json
import time
from array import array
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import msgspec

from workbench.batch.attempt import AttemptOutcome, TaskAttempt
from workbench.batch.attempt_progress import AttemptProgress
from workbench.batch.attempt_states import GOOD, RUNNING, WAITING, state_sign
from workbench.batch.figures import duration, money
from workbench.batch.pace import dollars_a_minute, pace_of
from workbench.durations import whole_duration
from workbench.text import counted, visible

_ROWS: Final = 4
"""The most running attempts, and the most failures, in the view."""
_BAR: Final = 24


class RunningAttempt(msgspec.Struct, frozen=True):
    """An attempt that was handed out, and when, in the seconds of `time.monotonic`."""

    attempt: TaskAttempt
    since: float
    number: int = 1
    """How often it was handed out: again once its worker has got the workspace."""


def outcome_line(outcome: AttemptOutcome, *, as_json: bool) -> str:
    """Return a line about an attempt that has ended."""
    if as_json:
        return json.dumps({**msgspec.to_builtins(outcome), "state": outcome.state})
    mark = state_sign(outcome.state)
    detail = f"   {visible(outcome.detail, lines=False)}" if outcome.detail else ""
    name = _name(*outcome.names)
    spent = f"{counted(outcome.steps, 'step')}  {money(outcome.cost, outcome.unpriced)}"
    return f"{mark} {outcome.state:<9} {name}   {spent}  {duration(outcome.total_seconds)}{detail}"


def spent_so_far(progress: AttemptProgress) -> str:
    """Return the steps and the cost of a running attempt."""
    return f"{counted(progress.steps, 'step')}  {money(progress.cost, progress.unpriced)}"


def latest_activity(progress: AttemptProgress, now: float) -> str:
    """Return what a running attempt did last and how long ago, safe to show; empty if it did nothing yet."""
    if not progress.activity or not progress.at:
        return ""
    ago = max(0.0, now - progress.at)  # the clock of a worker may be ahead
    return f"{visible(progress.activity, lines=False)}, {whole_duration(ago)} ago"


def _name(task: str, model: str, number: int) -> str:
    return visible(f"{task}  {model} #{number}", lines=False)


class Progress:
    """The progress of one client's part of a run."""

    def __init__(
        self,
        total: int,
        running: Mapping[str, RunningAttempt],
        clock: Callable[[], float] = time.monotonic,
        question_of: Callable[[TaskAttempt], str] = lambda attempt: "",
        progress_of: Callable[[TaskAttempt], AttemptProgress | None] = lambda attempt: None,
    ) -> None:
        """`total` attempts are to be made; `running` always has those that run now.

        `question_of` returns what an attempt asks its user at the moment, or an empty text; `progress_of` returns what
        one has spent so far, if that is known.
        """
        self._total = total
        self._running = running
        self._clock = clock
        self._question_of = question_of
        self._progress_of = progress_of
        self._began = clock()
        self._durations = array("d")
        self._failures: deque[AttemptOutcome] = deque(maxlen=_ROWS)
        self._states: Counter[str] = Counter()
        self._cost = 0.0

    def add(self, outcome: AttemptOutcome) -> None:
        """Count an attempt that has ended."""
        self._durations.append(outcome.total_seconds)
        if outcome.state not in GOOD:
            self._failures.append(outcome)
        self._states[outcome.state] += 1
        self._cost += outcome.cost

    def lines(self, width: int) -> list[str]:
        """Return the view, at most `width` cells wide."""
        running = list(self._running.values())  # a copy: the view is drawn in a thread of its own
        progresses = {each.attempt.key: self._progress_of(each.attempt) for each in running}
        cost = self._cost + sum(each.cost for each in progresses.values() if each is not None)
        done = len(self._durations)
        states = " · ".join(f"{count} {state}" for state, count in self._states.most_common())
        head = f"{progress_bar(done, self._total)}  {done} of {self._total}   {states}   ${cost:.2f}"
        lines = [head, self._pace(cost, len(running)), *self._running_lines(running, progresses)]
        return [_cut(line, width) for line in (*lines, *self._failure_lines()) if line]

    def _pace(self, cost: float, running: int) -> str:
        """Return the time so far, the rates, and how long the rest may take."""
        remaining, passed = self._total - len(self._durations), self._clock() - self._began
        pace = pace_of(self._durations, passed, remaining, running)
        return " · ".join(msgspec.structs.replace(pace, dollars=dollars_a_minute(cost, passed)).parts)

    def _running_lines(
        self, running: list[RunningAttempt], progresses: Mapping[str, AttemptProgress | None]
    ) -> Iterator[str]:
        """Yield the attempts that have been running longest."""
        running.sort(key=lambda each: each.since)
        now = self._clock()
        for each in running[:_ROWS]:
            question = visible(self._question_of(each.attempt), lines=False)
            mark = state_sign(WAITING if question else RUNNING)
            progress = progresses[each.attempt.key]
            spent = [spent_so_far(progress)] if progress is not None else []
            activity = [latest_activity(progress, time.time())] if progress is not None and not question else []
            words = (_name(*each.attempt.names), whole_duration(now - each.since), *spent, question, *activity)
            yield f"{mark} {'   '.join(filter(None, words))}"
        if len(running) > _ROWS:
            yield f"  and {len(running) - _ROWS} more"

    def _failure_lines(self) -> Iterator[str]:
        """Yield the newest attempts that did not succeed, the latest first."""
        for each in reversed(list(self._failures)):
            mark, words = state_sign(each.state), (f"{each.task} #{each.attempt}", each.detail, each.model)
            # The reason comes before the model, whose name may be long, because the line may be cut.
            yield visible(f"{mark} {each.state:<9} {'   '.join(filter(None, words))}", lines=False)


def progress_bar(done: int, total: int) -> str:
    """Return a bar of a fixed width that is filled in proportion."""
    filled = round(_BAR * done / total) if total else _BAR
    return f"{'█' * filled}{'░' * (_BAR - filled)}"


def _cut(line: str, width: int) -> str:
    return line if len(line) <= width else line[: max(0, width - 1)] + "…"
