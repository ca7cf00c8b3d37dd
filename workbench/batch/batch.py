"""The client of a run: hands out attempts while there are any, and stores each outcome as it comes."""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from workbench.batch.attempt import AttemptOutcome, TaskAttempt
from workbench.batch.attempt_files import Report, RunContext
from workbench.batch.cluster import Cluster, SchedulerTurns, is_lost
from workbench.batch.progress import RunningAttempt
from workbench.batch.results import Results
from workbench.batch.run_directory import RunDirectory
from workbench.errors import WorkbenchError
from workbench.text import first_line

_POLL: Final = 0.5
"""Seconds between two looks at how many workers there are."""


class BatchRun:
    """One run, or the continuation of one. `stop` and `interrupt` may be called from any thread."""

    def __init__(
        self,
        directory: RunDirectory,
        context: RunContext,
        cluster: Cluster,
        *,
        max_parallel: int = 0,
        max_cost: float = 0.0,
        turns: SchedulerTurns | None = None,
        earlier_cost: float = 0.0,
        notify: Callable[[str], None] = lambda line: None,
    ) -> None:
        """`max_parallel` and `max_cost` (in US dollars, for the whole run) are unlimited if they are 0.

        `earlier_cost` is what the run has cost before. `notify` gets lines about the run as a whole.
        """
        self._directory = directory
        self._cluster = cluster
        self._max_parallel = max_parallel
        self._max_cost = max_cost
        self._turns = turns
        self._notify = notify
        self._has_workers = True
        self._slots, self._counted = 0, float("-inf")
        self._name = context.client
        self._context = msgspec.json.encode(context)
        self._ended: queue.SimpleQueue[tuple[TaskAttempt, Any]] = queue.SimpleQueue()
        self._is_stopped = threading.Event()
        self.running: dict[str, RunningAttempt] = {}
        """The attempts that were handed out, by their keys."""
        self.cost = earlier_cost
        """What the attempts of the run have cost so far, in US dollars."""

    def run(
        self, attempts: Iterable[TaskAttempt], results: Results, on_outcome: Callable[[AttemptOutcome], None]
    ) -> None:
        """Run the attempts and store their outcomes; return when all have ended, or no more are started.

        `on_outcome` is called with each outcome once it is stored. Raises WorkbenchError if the cluster is lost or an
        outcome cannot be stored; everything stored before remains.
        """
        if self._turns is not None:
            self._turns.begin()
        self._cluster.check_versions()
        waiting = deque(attempts)
        while waiting or self.running:
            self._start_some(waiting, results)
            if not self.running and (self._is_stopped.is_set() or self._is_too_expensive):
                break
            outcome = self._next_outcome()
            if outcome is not None:
                self.cost += outcome.cost
                results.add(outcome)
                on_outcome(outcome)
        self._cluster.forget_run(self._context)

    def stop(self) -> None:
        """Start no more attempts; those that run are finished."""
        self._is_stopped.set()

    def interrupt(self) -> None:
        """Start no more attempts, and interrupt those that run; `--resume` starts them again."""
        self._is_stopped.set()
        self._cluster.end_attempts(self._name)

    @property
    def _is_too_expensive(self) -> bool:
        return 0 < self._max_cost <= self.cost

    def _start_some(self, waiting: deque[TaskAttempt], results: Results) -> None:
        """Hand out as many attempts as may run now."""
        while waiting and self._may_start():
            attempt = waiting.popleft()
            earlier = results.outcome_of(attempt.names)
            if earlier is not None:
                results.remove(attempt.names)
                self._directory.forget(attempt.key, earlier)
            self._start(attempt)

    def _may_start(self) -> bool:
        if self._is_stopped.is_set() or self._is_too_expensive:
            return False
        now = time.monotonic()
        if now - self._counted > _POLL:
            self._slots, self._counted = self._cluster.slots, now
        slots = self._slots
        if bool(slots) != self._has_workers:
            self._has_workers = bool(slots)
            self._notify("there are workers again" if slots else "there is no worker; waiting for one")
        return len(self.running) < (min(slots, self._max_parallel) if self._max_parallel else slots)

    def _start(self, attempt: TaskAttempt) -> None:
        self.running[attempt.key] = RunningAttempt(attempt, time.monotonic())
        work = msgspec.json.encode(attempt)
        future = self._cluster.submit(work, self._context, self._turns, self._name, attempt.key)
        future.add_done_callback(lambda done: self._ended.put((attempt, done)))

    def _next_outcome(self) -> AttemptOutcome | None:
        """Wait for the next attempt to end, and return its outcome; None if none ended for a moment."""
        try:
            attempt, future = self._ended.get(timeout=_POLL)
        except queue.Empty:
            return None
        del self.running[attempt.key]
        if future.status == "finished":
            return self._stored(attempt, msgspec.json.decode(future.result(), type=Report))
        if future.status != "error":
            raise WorkbenchError("the scheduler was lost; continue with --resume once there is one")
        error = future.exception()
        if not is_lost(error):
            raise WorkbenchError(f"the cluster failed: {first_line(f'{type(error).__name__}: {error}', 200)}")
        return AttemptOutcome(*attempt.names, "worker", "the worker was lost each time that this was tried")

    def _stored(self, attempt: TaskAttempt, report: Report) -> AttemptOutcome:
        """Write the files that a report brings, and return its outcome. Raises WorkbenchError."""
        report.check(attempt)
        if not self._directory.exists:
            raise WorkbenchError(f"{self._directory.path} is gone; what has ended since then is not stored")
        for name, content in report.files.items():
            path = self._directory.path / name
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            except OSError as error:
                raise WorkbenchError(f"{name} cannot be written: {error.strerror or error}") from None
        return report.outcome
