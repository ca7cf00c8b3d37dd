"""What the running attempts of a client have spent so far, for its limit, its view and those who watch the run."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

import msgspec

from workbench.batch.attempt import AttemptOutcome
from workbench.batch.attempt_files import RunContext
from workbench.batch.attempt_progress import PROGRESS_FILE, AttemptProgress, read_progress
from workbench.batch.cluster import Cluster
from workbench.batch.discarded_costs import discard_cost, discard_progress, discarded_cost
from workbench.batch.elsewhere import ElsewhereList, RunningElsewhere
from workbench.batch.progress import RunningAttempt
from workbench.batch.run_directory import RunDirectory
from workbench.session.storage.lock import is_locked

logger = logging.getLogger(__name__)
_EVERY: Final = 1.0
"""Seconds between two looks at the files of the attempts."""
_ELSEWHERE_EVERY: Final = 5.0
"""The least seconds between two calls of all workers, which the scheduler passes on."""
_EACH_WORKER: Final = 0.05
"""Seconds by which each worker extends that, so that many do not keep the scheduler busy."""


class RunProgress:
    """Reads what running attempts have spent: from their files, or of those on other machines from their workers.

    It uses memory for the running attempts only. `refresh` is called by one thread, all else by any.
    """

    def __init__(self, directory: RunDirectory, cluster: Cluster, context: RunContext) -> None:
        self._cluster = cluster
        self._context = context
        self._here = directory.of_attempt("")
        self._list = ElsewhereList(directory.path)
        self._read_at = float("-inf")
        self._running: Mapping[str, AttemptProgress] = {}
        self._reported: Mapping[str, AttemptProgress] = {}
        """What the workers have reported."""
        self._discarded: dict[str, float] = {}
        """What earlier runs of the running attempts had cost before they were handed out."""
        self._lost: Mapping[str, float] = {}
        """What killed workers have spent on running attempts since then."""
        self._since: dict[str, float] = {}
        self._is_due = threading.Event()
        self._thread: threading.Thread | None = None

    def of(self, key: str) -> AttemptProgress | None:
        """Return what a running attempt has spent so far; None if that is not known."""
        return self._running.get(key)

    def cost(self, running: Mapping[str, object]) -> float:
        """Return what these attempts have cost since they were handed out, in US dollars."""
        return sum(each.cost for key, each in self._running.items() if key in running) + sum(self._lost.values())

    def on_start(self, key: str) -> None:
        """Prepare for an attempt that is handed out for the first time."""
        directory = self._here / key
        with suppress(OSError):  # on a full disk, the first outcome ends the run
            if not is_locked(directory / "lock"):  # otherwise that of a killed client is just ending
                discard_progress(directory)
        self._discarded[key] = discarded_cost(directory)

    def discard(self, key: str, cost: float) -> None:
        """Count what an attempt has spent, in US dollars, that is handed out again."""
        directory = self._here / key
        with suppress(OSError):
            if read_progress(directory) is not None:
                discard_progress(directory)
            else:
                directory.mkdir(parents=True, exist_ok=True)
                discard_cost(directory, cost)

    def on_end(self, outcome: AttemptOutcome, key: str) -> float:
        """Forget an attempt that has ended; return what killed workers have spent on it."""
        directory = self._here / key
        with suppress(OSError):
            if outcome.ending == "worker":
                discard_progress(directory)
            else:
                (directory / PROGRESS_FILE).unlink(missing_ok=True)
        return discarded_cost(directory) - self._discarded.pop(key, 0.0)

    def refresh(self, running: Mapping[str, RunningAttempt], *, at_once: bool = False) -> None:
        """Read what has changed, unless that was done a moment ago and `at_once` is false."""
        now = time.monotonic()
        if now - self._read_at < _EVERY and not at_once:
            return
        self._read_at = now
        read = {key: read_progress(self._here / key) for key in running}
        missing = [key for key, progress in read.items() if progress is None]
        if self._cluster.is_elsewhere:
            read.update(self._elsewhere(missing))
        # An attempt that is just ending has no file any more, and no outcome yet: what it has spent still counts.
        latest = {key: progress or self._running.get(key) for key, progress in read.items()}
        self._running = {key: each for key, each in latest.items() if each is not None}
        lost = {key: discarded_cost(self._here / key) - self._discarded[key] for key in running}
        self._lost = {key: cost for key, cost in lost.items() if cost}
        if self._cluster.is_elsewhere:
            self._write_list(missing, running, now)

    def _elsewhere(self, keys: list[str]) -> Mapping[str, AttemptProgress]:
        """Return the progress of attempts with these keys, from the shared directory or as their workers reported."""
        shared = self._context.shared_run
        if shared is not None:
            read = {key: read_progress(shared / "attempts" / key) for key in keys}
            return {key: each for key, each in read.items() if each is not None}
        if keys:
            self._call_workers()
        reported = self._reported
        return {key: reported[key] for key in keys if key in reported}

    def _call_workers(self) -> None:
        """Let the workers be called, in a thread of its own: one that is lost answers late or never."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name="ohw-progress", daemon=True)
            self._thread.start()
        self._is_due.set()

    def _serve(self) -> None:
        context = msgspec.json.encode(self._context)
        while self._is_due.wait():
            self._is_due.clear()
            reported: dict[str, AttemptProgress] = {}
            try:
                answers = self._cluster.running_progress(context)
            except (OSError, ValueError, RuntimeError) as error:  # the run itself notices that its cluster is gone
                logger.warning("the workers did not report their progress: %s", error)
                answers = ()
            for answer in answers:
                with suppress(msgspec.MsgspecError):
                    reported |= msgspec.json.decode(answer, type=dict[str, AttemptProgress])
            self._reported = reported
            time.sleep(max(_ELSEWHERE_EVERY, _EACH_WORKER * len(answers)))

    def _write_list(self, keys: list[str], running: Mapping[str, RunningAttempt], now: float) -> None:
        """Store which attempts run elsewhere for those who watch the run, if that has changed."""
        since = {key: self._since.get(key) or time.time() - (now - running[key].since) for key in keys}
        self._list.store({key: RunningElsewhere(since[key], self._running.get(key)) for key in keys})
        self._since = since

    def forget(self) -> None:
        """Delete what is stored for those who watch the run."""
        self._list.store({})
