"""The dask cluster that runs the attempts: local processes, or an existing scheduler with its workers."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from typing import Any, Final, TypeVar

import dask
import distributed
import msgspec
from distributed import (
    Client,
    Future,
    LocalCluster,
    Lock,
    Security,
    Variable,
    Worker,
    WorkerPlugin,
    get_client,
    get_worker,
)
from distributed.utils import sync

from workbench import __version__
from workbench.batch.worker import (
    end_attempts,
    end_unwanted,
    forget_run,
    run_attempt,
    running_progress,
    version_of_worker,
)
from workbench.engine.sockets import forbid_tracing
from workbench.errors import WorkbenchError
from workbench.text import first_line, visible

T = TypeVar("T")
_CONNECT_SECONDS: Final = 10
_PREFIX: Final = "ohw-"
_OPTIONS: Final = {
    "distributed.scheduler.allowed-failures": 10,
    "distributed.scheduler.work-stealing": False,
    "distributed.worker.daemon": False,  # attempts start processes
    "distributed.comm.timeouts.connect": f"{_CONNECT_SECONDS}s",
    "distributed.admin.low-level-log-length": 100,
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.tick.limit": "60s",
    "distributed.worker.profile.enabled": False,
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.nanny.http.routes": [],
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
}
"""What differs from dask's defaults: workers may be lost often, memory that tools use is not data to spill, and neither
web servers nor profiles, which take a tenth of the processor time, show anything.
"""


class AttemptName(msgspec.Struct, frozen=True):
    """The name of an attempt that was handed out; no other one in the cluster has it."""

    client: str
    key: str
    number: int = 1
    """How often the attempt was handed out."""

    def __str__(self) -> str:
        return f"{_PREFIX}{self.client}-{self.key}+{self.number}"

    @classmethod
    def parse(cls, text: str) -> AttemptName:
        """Return the name whose text this is."""
        client, _, rest = text.removeprefix(_PREFIX).partition("-")
        key, _, number = rest.rpartition("+")
        return cls(client, key, int(number))


class Cluster:
    """The workers, as the client of a run uses them; each runs as many attempts at a time as it has threads."""

    def __init__(self, client: Client, *, is_elsewhere: bool = False) -> None:
        self._client = client
        self.is_elsewhere = is_elsewhere
        """Whether workers may be on other machines."""
        self._excluded: set[str] = set()

    @property
    def slots(self) -> int:
        """How many attempts the workers that are not excluded run at the same time."""
        return sum(threads for worker, threads in self._client.nthreads().items() if worker not in self._excluded)

    def exclude(self, worker: str) -> bool:
        """Hand out no attempts to this worker any more, as long as there is another one; return whether that is new."""
        is_new = worker not in self._excluded
        self._excluded.add(worker)
        return is_new

    @property
    def is_used_up(self) -> bool:
        """Whether there are workers, but only excluded ones."""
        workers = set(self._client.nthreads())
        return bool(workers) and workers <= self._excluded

    def submit(
        self, attempts: Mapping[AttemptName, bytes], context: bytes, turns: Any, worker: str = ""
    ) -> Mapping[AttemptName, Future[bytes]]:
        """Hand out attempts, to this worker if it can run them; the results of the futures are the reports.

        All of them are one message to the scheduler, which takes a fraction of its time for many.
        """
        workers = [worker] if worker else []
        if self._excluded:
            workers = [each for each in workers or self._client.nthreads() if each not in self._excluded]
        # If these are lost, others may run the attempts: they would otherwise wait for workers that never come back.
        where: dict[str, Any] = {"workers": workers, "allow_other_workers": True} if workers else {}
        futures = self._client.map(
            _run_attempt,
            list(attempts.values()),
            key=list(map(str, attempts)),
            pure=False,
            retries=0,
            context=context,
            turns=turns,
            **where,
        )
        return dict(zip(attempts, futures, strict=True))

    def results(self, futures: Sequence[Future[bytes]]) -> Sequence[bytes]:
        """Return the results of finished futures, with one message to the scheduler for all."""
        results: Sequence[bytes] = self._client.gather(list(futures))
        return results

    def worker_of(self, future: Future[bytes]) -> str:
        """Return the worker that has a result; empty if it was lost."""
        workers = self._client.who_has([future]).get(future.key, ())
        return next(iter(workers), "")

    def call(self, worker: str, function: Callable[..., T], *arguments: Any, **options: Any) -> T | None:
        """Call a function in the process of a worker and return its result; None if the worker is lost."""
        with suppress(OSError, ValueError):
            results = self._client.run(function, *arguments, workers=[worker], on_error="ignore", **options)
            answer: T | None = results.get(worker)
            return answer
        return None

    def running_progress(self, context: bytes) -> Sequence[bytes]:
        """Return what the attempts on each worker have spent so far, except on those that do not answer."""
        return list(self._client.run(running_progress, context, on_error="ignore").values())

    def end_attempts(self, client: str) -> None:
        """Interrupt the attempts of a client on all workers."""
        self._client.run(end_attempts, client, on_error="ignore")

    def forget_run(self, context: bytes) -> None:
        """Delete what killed attempts of a run have left on the machines of the workers."""
        self._client.run(forget_run, context, on_error="ignore")

    def check_versions(self) -> None:
        """Raise WorkbenchError if a worker has no ohw, or another version of it.

        Workers that are lost meanwhile, or join later, check it themselves with each attempt.
        """
        for worker, version in self._client.run(version_of_worker, on_error="return").items():
            if isinstance(version, Exception) and not isinstance(version, OSError):
                raise WorkbenchError(f"the worker {worker} cannot run ohw: {first_line(str(version), 200)}")
            if isinstance(version, str) and version != __version__:
                other = visible(version, lines=False)
                raise WorkbenchError(f"the worker {worker} has ohw {other}, this is {__version__}")


@contextmanager
def local_cluster(workers: int) -> Iterator[Cluster]:
    """Yield a cluster of processes on this machine, which end with this process.

    Whoever can connect to a worker can run code in it, also an agent's command or another user. So all connections need
    a certificate that only these processes have, and no process of this user can read their memory or environment.
    """
    forbid_tracing()
    _start_resource_tracker()
    with dask.config.set({**_OPTIONS, "distributed.worker.preload": ["workbench.batch.local_worker"]}):
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        with (
            LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                security=Security.temporary(),
                protocol="tls",
                scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
                silence_logs=logging.CRITICAL,
            ) as cluster,
            Client(cluster) as client,
        ):
            yield Cluster(client)


def _start_resource_tracker() -> None:
    """Start the helper process of multiprocessing without the environment, from which an agent's command could read
    keys.
    """
    before = dict(os.environ)
    os.environ.clear()
    try:
        resource_tracker.ensure_running()
    finally:
        os.environ.update(before)


@contextmanager
def existing_cluster(scheduler: str) -> Iterator[Cluster]:
    """Yield the cluster of a scheduler that runs already. Raises WorkbenchError if it cannot be reached."""
    forbid_tracing()
    with dask.config.set(_OPTIONS):
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        try:
            client = Client(scheduler, timeout=_CONNECT_SECONDS)
        except (OSError, ValueError) as error:
            where = visible(scheduler, lines=False)
            raise WorkbenchError(f"there is no scheduler at {where}: {first_line(str(error), 200)}") from None
        with client:
            yield Cluster(client, is_elsewhere=True)


def _run_attempt(attempt: bytes, context: bytes, turns: SchedulerTurns | None) -> bytes:
    """Run an attempt on a worker; its session calls models in threads of its own, which do not know the worker."""
    _watch_attempts(get_worker())
    if turns is not None:
        turns = turns.of_worker()
    return run_attempt(attempt, context, turns)


class _UnwantedAttempts(WorkerPlugin):
    """Ends attempts when the scheduler does not want their results any more, because their client is gone."""

    name = "ohw-unwanted-attempts"

    def transition(self, key: Any, start: str, finish: str, **_: Any) -> None:
        """End the attempt whose task the scheduler releases while it runs; dask itself would let it run on."""
        if (start, finish) == ("executing", "released") and isinstance(key, str) and key.startswith(_PREFIX):
            name = AttemptName.parse(key)
            # A thread of its own: ending an attempt may take a moment, and this one serves the scheduler.
            threading.Thread(target=end_unwanted, args=(name.client, name.key), daemon=True).start()

    def teardown(self, worker: Worker) -> None:
        """End all attempts when the worker ends, for example because its scheduler is gone."""
        threading.Thread(target=end_unwanted, daemon=True).start()


def _watch_attempts(worker: Worker) -> None:
    """Let the attempts of a worker end when they are not wanted any more; called before each attempt."""
    if _UnwantedAttempts.name in worker.plugins:
        return

    async def add() -> None:
        if _UnwantedAttempts.name not in worker.plugins:
            await worker.plugin_add(_UnwantedAttempts(), _UnwantedAttempts.name)

    sync(worker.loop, add, callback_timeout=_CONNECT_SECONDS)


class SchedulerTurns:
    """The turns at models, kept by the scheduler, so that all workers share them.

    They are times of the scheduler's clock: those of the workers may differ by any amount, and change.
    """

    def __init__(
        self, nonce: str, rates: Mapping[str, float], client: Client | None = None, worker: Worker | None = None
    ) -> None:
        """`rates` are calls a minute. `client` and `worker` are those of this process, unless its thread knows them."""
        self._nonce = nonce
        self._rates = dict(rates)
        self._client = client
        self._worker = worker

    def of_worker(self) -> SchedulerTurns:
        """Return the same turns for all threads of the worker whose thread this is."""
        worker = get_worker()
        return SchedulerTurns(self._nonce, self._rates, get_client(), worker)

    def next_turn(self, model: str) -> float:
        """Return for how many seconds to wait before calling a model; 0 if it has no limit."""
        if model not in self._rates:
            return 0.0
        with self._lock(model):
            now = self._now()
            turn = max(now, self._next(model).get(timeout=_CONNECT_SECONDS))
            self._next(model).set(turn + 60 / self._rates[model])
        return max(0.0, float(turn) - now)

    def delay(self, model: str, seconds: float) -> None:
        """Let no call of a limited model begin for some seconds, because its provider asks for that."""
        if model not in self._rates:
            return
        with self._lock(model):
            earliest = self._now() + seconds
            if self._next(model).get(timeout=_CONNECT_SECONDS) < earliest:
                self._next(model).set(earliest)

    def begin(self) -> None:
        """Let the first call of each model begin at once; called by the client of the run."""
        for model in self._rates:
            self._next(model).set(0.0)

    def _now(self) -> float:
        """Return the time of the scheduler, from which dask measures the difference with each heartbeat."""
        return time.time() + (self._worker.scheduler_delay if self._worker is not None else 0.0)

    def _lock(self, model: str) -> Lock:
        name, worker = f"ohw-{self._nonce}-{model}", self._worker
        return Lock(name, scheduler_rpc=worker.scheduler, loop=worker.loop) if worker is not None else Lock(name)

    def _next(self, model: str) -> Variable:
        return Variable(f"ohw-next-{self._nonce}-{model}", client=self._client)


def is_lost(error: BaseException) -> bool:
    """Return whether an attempt failed because its workers were lost, more often than it is tried again."""
    return isinstance(error, distributed.KilledWorker)
