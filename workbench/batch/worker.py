"""What a process of a worker does: it runs attempts, and ends those that run when their run is interrupted."""

from __future__ import annotations

import logging
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Final

import msgspec

from workbench import __version__
from workbench.batch.attempt import AttemptOutcome, Ending, TaskAttempt
from workbench.batch.attempt_files import AttemptFiles, Report, RunContext
from workbench.batch.attempt_progress import read_progress
from workbench.batch.attempt_runner import AttemptRunner, worker_name
from workbench.batch.disk_space import space_problem
from workbench.batch.model_rate import Turns
from workbench.batch.task import InvalidTask
from workbench.batch.workspace_archives import archive_needed
from workbench.engine.sockets import forbid_tracing
from workbench.errors import WorkbenchError, describe_fault, exhaustion
from workbench.llm.model import Cancel
from workbench.processes.descendants import mark_descendants
from workbench.text import first_line, visible_path

logger = logging.getLogger(__name__)
_MOST_ENDED: Final = 1_000
"""How many interrupted clients a process remembers that did not say that they have ended."""


class _Interrupts:
    """The attempts that run in this process, so that they can be ended: those of a client at once, or one of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[Cancel, tuple[str, str]] = {}
        self._ended: dict[str, None] = {}

    @contextmanager
    def running(self, client: str, key: str) -> Iterator[Cancel]:
        """Yield the flag that ends an attempt; it is set at once if those of the client were ended before."""
        cancel = Cancel()
        with self._lock:
            self._running[cancel] = client, key
            is_ended = client in self._ended
        if is_ended:
            cancel.set()
        try:
            yield cancel
        finally:
            with self._lock:
                del self._running[cancel]

    def keys(self, client: str) -> list[str]:
        """Return the keys of a client's attempts that run now."""
        with self._lock:
            return [key for name, key in self._running.values() if name == client]

    def end(self, client: str) -> None:
        """End all attempts of a client, now and later."""
        with self._lock:
            self._ended[client] = None
            if len(self._ended) > _MOST_ENDED:
                del self._ended[next(iter(self._ended))]
        self.end_running(client)

    def end_running(self, client: str = "", key: str = "") -> None:
        """End the attempts that run now: all, those of a client, or one of them."""
        with self._lock:
            cancels = [cancel for cancel, names in self._running.items() if _fits(names, (client, key))]
        for cancel in cancels:
            cancel.set()

    def forget(self, client: str) -> None:
        """Forget a client, which starts no attempts any more."""
        with self._lock:
            self._ended.pop(client, None)


def _fits(names: tuple[str, str], pattern: tuple[str, str]) -> bool:
    return all(each in ("", name) for name, each in zip(names, pattern, strict=True))


_interrupts = _Interrupts()


def version_of_worker() -> str:
    """Return the version of ohw that this process has."""
    return __version__


@cache
def prepare_process() -> None:
    """Prepare this process for attempts: what they start ends with it, and cannot read its memory."""
    mark_descendants()
    forbid_tracing()


def end_attempts(client: str) -> None:
    """Interrupt the attempts of a client in this process, and those that would still start."""
    _interrupts.end(client)


def end_unwanted(client: str = "", key: str = "") -> None:
    """Interrupt the attempts in this process whose results nobody waits for: all, those of a client, or one of them."""
    _interrupts.end_running(client, key)


def running_progress(context: bytes) -> bytes:
    """Return what the attempts of a run in this process have spent so far, as far as only this machine has it."""
    shared = msgspec.json.decode(context, type=RunContext)
    directories = {key: shared.own_run / "attempts" / key for key in _interrupts.keys(shared.client)}
    read = {key: read_progress(directory) for key, directory in directories.items()}
    return msgspec.json.encode({key: progress for key, progress in read.items() if progress is not None})


def run_attempt(attempt: bytes, context: bytes, turns: Turns | None = None) -> bytes:
    """Run an attempt and return the report; all of them are encoded, so that no other version can misread them.

    Whatever goes wrong is in the report. `turns` limits the rate of model calls.
    """
    work = msgspec.json.decode(attempt, type=TaskAttempt)
    shared = msgspec.json.decode(context, type=RunContext)
    began = time.time()
    prepare_process()
    try:
        work.task.validate()
        if shared.version != __version__:
            raise WorkbenchError(f"this worker has ohw {__version__}, the run was started by {shared.version}")
        with _interrupts.running(shared.client, work.key) as cancel, AttemptFiles.locked(shared, work, cancel) as files:
            if files is not None:
                report = files.earlier_report() or _run(work, shared, files, cancel, turns)
            else:
                report = _ended(work, "interrupted", "", began)
    except (WorkbenchError, InvalidTask) as error:
        report = _ended(work, "worker", first_line(str(error), 300), began)
    except OSError as error:  # such as a full disk, or a run that was deleted
        report = _ended(work, "worker", first_line(f"the worker failed: {_reason(error)}", 300), began)
    except Exception as error:  # a fault in one attempt must not end the run
        logger.exception("an attempt failed")
        report = _ended(work, "worker", first_line(describe_fault(error), 300), began)
    if report.outcome.ending == "worker":
        report = msgspec.structs.replace(report, worker_problem=space_problem(shared.written_directories))
    return msgspec.json.encode(report)


def _run(work: TaskAttempt, shared: RunContext, files: AttemptFiles, cancel: Cancel, turns: Turns | None) -> Report:
    missing, archive = archive_needed(work, shared.archives)
    if missing:
        outcome = AttemptOutcome(*work.names, "workspace", "its archive is not on the worker")
        return Report(outcome, missing_archive=missing)
    return AttemptRunner(work, shared, files, cancel, turns, archive=archive).run()


def _reason(error: OSError) -> str:
    where = f" ({visible_path(str(error.filename))})" if error.filename else ""
    return exhaustion(error) or f"{error.strerror or error}{where}"


def _ended(attempt: TaskAttempt, ending: Ending, detail: str, began: float) -> Report:
    return Report(AttemptOutcome(*attempt.names, ending, detail, started=began, worker=worker_name()))


def forget_run(context: bytes) -> None:
    """Delete what killed attempts of a run have left on this machine, and forget its client."""
    shared = msgspec.json.decode(context, type=RunContext)
    _interrupts.forget(shared.client)
    shutil.rmtree(shared.local_data, ignore_errors=True)
