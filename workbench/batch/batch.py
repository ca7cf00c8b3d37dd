"""The client of a run: hands out attempts while there are any, and stores each outcome as it comes."""

from __future__ import annotations

import queue
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

import msgspec
from distributed import Future

from workbench.batch.attempt import AttemptOutcome, TaskAttempt
from workbench.batch.attempt_files import (
    Report,
    RunContext,
    create_shared_run,
    forget_shared_run,
    move_files,
    question_in,
)
from workbench.batch.attempt_progress import AttemptProgress
from workbench.batch.cluster import AttemptName, Cluster, SchedulerTurns, is_lost
from workbench.batch.progress import RunningAttempt
from workbench.batch.result_fetcher import FetchedResult, ResultFetcher
from workbench.batch.results import Results
from workbench.batch.run_directory import RunDirectory
from workbench.batch.run_progress import RunProgress
from workbench.batch.unusable_workers import UnusableWorkers
from workbench.batch.workspace_archives import origin_of
from workbench.batch.workspace_sender import SentArchive, WorkspaceSender
from workbench.errors import WorkbenchError
from workbench.text import first_line, visible_path

_End: TypeAlias = "Future[bytes] | SentArchive | FetchedResult"
_Ended: TypeAlias = tuple[TaskAttempt, _End]
"""An attempt with its result, with what was fetched of it, or with what its worker has got for it."""
_MOST_TIMES: Final = 5
"""How often an attempt is handed out again because its worker lacked the workspace, or was lost with the result."""
_MOST_AT_ONCE: Final = 50
"""The most reports that are in memory at a time."""
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
        self._shared_context = context
        self._context = msgspec.json.encode(context)
        self._sender = WorkspaceSender(cluster, context)
        self._fetcher = ResultFetcher(cluster, context, directory.path)
        self._progress = RunProgress(directory, cluster, context)
        self._ended: queue.SimpleQueue[_Ended] = queue.SimpleQueue()
        self._is_stopped = self._is_interrupted = self._has_ended_attempts = False
        self.unusable = UnusableWorkers(cluster, notify)
        self.running: dict[str, RunningAttempt] = {}
        """The attempts that were handed out, by their keys."""
        self.cost = earlier_cost
        """What the attempts of the run that have ended have cost, in US dollars."""

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
        create_shared_run(self._shared_context)
        waiting = deque(attempts)
        ended: Sequence[_Ended] = ()
        while waiting or self.running:
            if self._is_interrupted and not self._has_ended_attempts:
                self._has_ended_attempts = True
                self._cluster.end_attempts(self._name)
            self._progress.refresh(self.running, at_once=self._max_cost > 0)
            if self._max_cost:  # whether more may start depends on what the ended ones have cost
                self._collect(ended, results, on_outcome)
                ended = ()
            # Before reports are fetched and stored, so that no worker waits for that.
            self._start_some(waiting, results, len(ended))
            if not self.running and (self._is_stopped or self._is_too_expensive):
                break
            self._collect(ended, results, on_outcome)
            ended = self._next_ended() if waiting or self.running else ()
        self._progress.forget()
        self._cluster.forget_run(self._context)
        forget_shared_run(self._shared_context)

    def _next_ended(self) -> Sequence[_Ended]:
        """Wait for attempts to end, and return those that have; none if none ended for a moment."""
        ended = []
        with suppress(queue.Empty):
            ended.append(self._ended.get(timeout=_POLL))
            while len(ended) < _MOST_AT_ONCE:
                ended.append(self._ended.get_nowait())
        return ended

    def _collect(
        self,
        ended: Sequence[_Ended],
        results: Results,
        on_outcome: Callable[[AttemptOutcome], None],
    ) -> None:
        """Fetch the reports of attempts that have ended, and store their outcomes, all at once."""
        outcomes: list[AttemptOutcome] = []
        try:
            outcomes.extend(self._outcomes(ended))
        finally:
            results.add(*outcomes)
            for outcome in outcomes:
                self.cost += outcome.cost
                on_outcome(outcome)

    def question_of(self, attempt: TaskAttempt) -> str:
        """Return what a running attempt on this machine asks its user at the moment; empty if it asks nothing."""
        return question_in(self._directory.of_attempt(attempt.key))

    def progress_of(self, attempt: TaskAttempt) -> AttemptProgress | None:
        """Return what a running attempt has spent so far; None if that is not known."""
        return self._progress.of(attempt.key)

    def stop(self) -> None:
        """Start no more attempts; those that run are finished."""
        self._is_stopped = True

    def interrupt(self) -> None:
        """Start no more attempts, and interrupt those that run; `--resume` starts them again.

        Signal handlers call this and `stop`, perhaps one within the other, so neither may take a lock, not even that
        of an event. The loop of the run passes the interrupt on to the workers.
        """
        self._is_interrupted = True
        self._is_stopped = True

    @property
    def _is_too_expensive(self) -> bool:
        if not self._max_cost:
            return False
        return self._max_cost <= self.cost + self._progress.cost(self.running)

    def _start_some(self, waiting: deque[TaskAttempt], results: Results, ended: int) -> None:
        """Hand out as many attempts as may run now; `ended` of those that count as running do not run any more."""
        attempts: dict[AttemptName, TaskAttempt] = {}
        while waiting and self._may_start(ended):
            attempt = waiting.popleft()
            earlier = results.outcome_of(attempt.names)
            if earlier is not None:
                results.remove(attempt.names)
                self._directory.forget(attempt.key, earlier)
            attempts[self._register(attempt)] = attempt
        if attempts:
            self._start(attempts)

    def _may_start(self, ended: int) -> bool:
        if self._is_stopped or self._is_too_expensive:
            return False
        now = time.monotonic()
        if now - self._counted > _POLL:
            self._slots, self._counted = self._cluster.slots, now
        slots = self._slots
        if bool(slots) != self._has_workers:
            self._has_workers = bool(slots)
            self._notify("there are workers again" if slots else "there is no worker; waiting for one")
        return len(self.running) - ended < (min(slots, self._max_parallel) if self._max_parallel else slots)

    def _register(self, attempt: TaskAttempt) -> AttemptName:
        """Count an attempt as running, and return the name under which it is handed out."""
        earlier = self.running.get(attempt.key)
        if earlier is None:
            self._progress.on_start(attempt.key)
            self.running[attempt.key] = RunningAttempt(attempt, time.monotonic())
        else:
            self.running[attempt.key] = RunningAttempt(attempt, earlier.since, earlier.number + 1)
        return AttemptName(self._name, attempt.key, self.running[attempt.key].number)

    def _start(self, attempts: Mapping[AttemptName, TaskAttempt], worker: str = "") -> None:
        """Hand out attempts, to this worker if it can run them."""
        work = {name: msgspec.json.encode(self._for_worker(attempt)) for name, attempt in attempts.items()}
        for name, future in self._cluster.submit(work, self._context, self._turns, worker).items():
            future.add_done_callback(partial(self._on_end, attempts[name]))

    def _for_worker(self, attempt: TaskAttempt) -> TaskAttempt:
        if not self._cluster.is_elsewhere:
            return attempt
        return msgspec.structs.replace(attempt, origin=origin_of(attempt.task))

    def _on_end(self, attempt: TaskAttempt, ended: _End) -> None:
        """Note that an attempt has ended, or that its worker has got the workspace; called in other threads."""
        self._ended.put((attempt, ended))

    def _outcomes(self, ended: Sequence[_Ended]) -> Iterator[AttemptOutcome]:
        """Yield the outcomes of attempts that have ended; one that is handed out again has none yet."""
        finished = {each.key: each for _, each in ended if isinstance(each, Future) and each.status == "finished"}
        reports = dict(zip(finished, self._cluster.results(list(finished.values())), strict=True)) if finished else {}
        for attempt, each in ended:
            if isinstance(each, SentArchive):
                outcome = self._sent(attempt, each)
            elif isinstance(each, FetchedResult):
                outcome = self._fetched(attempt, each)
            elif each.key in reports:
                outcome = self._reported(attempt, each, msgspec.json.decode(reports[each.key], type=Report))
            else:
                outcome = self._failed(attempt, each)
            if outcome is not None:
                self.cost += self._progress.on_end(outcome, attempt.key)
                del self.running[attempt.key]
                yield outcome

    def _sent(self, attempt: TaskAttempt, sent: SentArchive) -> AttemptOutcome | None:
        """Hand out an attempt again whose worker has got the workspace; return its outcome if that was not possible."""
        if sent.problem or self._is_stopped:
            return AttemptOutcome(*attempt.names, "workspace" if sent.problem else "interrupted", sent.problem)
        self._start({self._register(attempt): attempt}, sent.worker)
        return None

    def _reported(self, attempt: TaskAttempt, future: Future[bytes], report: Report) -> AttemptOutcome | None:
        if report.missing_archive and self.running[attempt.key].number <= _MOST_TIMES:
            self._sender.send(attempt, future, partial(self._on_end, attempt))
            return None
        if report.worker_problem:
            return self._retried(attempt, future, report)
        if report.stored is not None:
            report.check(attempt)
            self._fetcher.fetch(report, report.stored, future, partial(self._on_end, attempt))
            return None
        return self._stored(attempt, report)

    def _retried(self, attempt: TaskAttempt, future: Future[bytes], report: Report) -> AttemptOutcome | None:
        """Hand out an attempt again whose worker can run none; return its outcome if there is no other worker."""
        self._progress.discard(attempt.key, report.outcome.cost)
        is_excluded = self.unusable.exclude(future, report.worker_problem)
        self._is_stopped |= self.unusable.is_none_usable
        if not is_excluded and self.running[attempt.key].number > _MOST_TIMES:
            return report.outcome
        return self._sent(attempt, SentArchive())

    def _fetched(self, attempt: TaskAttempt, fetched: FetchedResult) -> AttemptOutcome | None:
        """Return the outcome of an attempt whose files were fetched, or hand it out again if its worker was lost.

        Raises WorkbenchError if they cannot be stored.
        """
        if fetched.problem:
            raise WorkbenchError(fetched.problem)
        if not fetched.is_lost:
            return self._stored(attempt, fetched.report)
        if self.running[attempt.key].number > _MOST_TIMES:
            return AttemptOutcome(*attempt.names, "worker", "its worker was lost each time before its files were sent")
        return self._sent(attempt, SentArchive())

    def _failed(self, attempt: TaskAttempt, future: Future[bytes]) -> AttemptOutcome:
        """Return the outcome of an attempt that has no report. Raises WorkbenchError unless its workers were lost."""
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
        _store_files(attempt, report, self._directory.path, self._shared_context.shared_run)
        return report.outcome


def _store_files(attempt: TaskAttempt, report: Report, directory: Path, shared: Path | None) -> None:
    """Write the files of a report into the directory of the run. Raises WorkbenchError."""
    name = ""
    try:
        for name, content in report.files.items():
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        if report.is_in_shared and shared is not None:
            name = f"what {attempt.key} left in {visible_path(str(shared))}"
            move_files(attempt, report.outcome, shared, directory)
    except OSError as error:
        raise WorkbenchError(f"{name} cannot be stored: {error.strerror or error}") from None
