"""Takes workers out of a run that cannot run attempts, for example because their disk is full."""

from __future__ import annotations

from collections.abc import Callable

from distributed import Future

from workbench.batch.cluster import Cluster
from workbench.text import first_line, visible


class UnusableWorkers:
    """The workers that get no more attempts of a run; each is reported once, and that none is left."""

    def __init__(self, cluster: Cluster, notify: Callable[[str], None]) -> None:
        """`notify` gets lines about the run as a whole."""
        self._cluster = cluster
        self._notify = notify
        self.is_none_usable = False
        """Whether there are workers, but none that can run attempts."""

    def exclude(self, reply: Future[bytes], problem: str) -> bool:
        """Take out the worker that has sent `reply`, because of its `problem`; return False if it is lost."""
        worker = self._cluster.worker_of(reply)
        if worker and self._cluster.exclude(worker):
            reason = visible(first_line(problem, 200), lines=False)
            self._notify(f"the worker {visible(worker, lines=False)} gets no more attempts: {reason}")
        if self._cluster.is_used_up and not self.is_none_usable:
            self.is_none_usable = True
            self._notify("no worker is left that can run attempts; no more are started")
        return bool(worker)
