"""Fetches what attempts left on workers in parts, beside the run, if it is too much for one message."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from workbench.batch.attempt_files import Report, RunContext
from workbench.batch.cluster import Cluster
from workbench.batch.stored_results import StoredResult, delete_result, part_of_result


class FetchedResult(msgspec.Struct, frozen=True):
    """A report whose files are in the directory of the run now, unless the worker was lost or there was a problem."""

    report: Report
    is_lost: bool = False
    problem: str = ""


class _Request(NamedTuple):
    report: Report
    stored: StoredResult
    reply: Any
    then: Callable[[FetchedResult], None]


class ResultFetcher:
    """Fetches files from workers, one result after another, in a thread of its own."""

    def __init__(self, cluster: Cluster, context: RunContext, directory: Path) -> None:
        """`directory` is that of the run."""
        self._cluster = cluster
        self._nonce = context.nonce
        self._directory = directory
        self._requests: queue.SimpleQueue[_Request] = queue.SimpleQueue()
        self._is_started = False

    def fetch(self, report: Report, stored: StoredResult, reply: Any, then: Callable[[FetchedResult], None]) -> None:
        """Fetch the files of a report, whose names were checked, from the worker with the result `reply`.

        Calls `then` in another thread once they are here.
        """
        if not self._is_started:
            self._is_started = True
            threading.Thread(target=self._serve, name="ohw-results", daemon=True).start()
        self._requests.put(_Request(report, stored, reply, then))

    def _serve(self) -> None:
        while True:
            request = self._requests.get()
            worker = self._cluster.worker_of(request.reply)
            try:
                is_here = all(
                    self._copy(worker, request.stored.token, number, name, size)
                    for number, (name, size) in enumerate(request.stored.sizes.items())
                )
            except OSError as error:
                problem = f"what {worker} sent cannot be stored: {error.strerror or error}"
                request.then(FetchedResult(request.report, problem=problem))
                continue
            if is_here:
                self._cluster.call(worker, forget_result, self._nonce, request.stored.token)
            request.then(FetchedResult(request.report, is_lost=not is_here))

    def _copy(self, worker: str, token: str, number: int, name: str, size: int) -> bool:
        """Copy one file; return False if the worker was lost, or does not have it any more. Raises OSError."""
        path = self._directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}-part")
        with draft.open("wb") as file:
            while file.tell() < size:
                part = self._cluster.call(worker, result_part, self._nonce, token, number, file.tell())
                if not part:
                    break
                file.write(part)
            is_whole = file.tell() == size
        if is_whole:
            draft.replace(path)
        else:
            draft.unlink(missing_ok=True)
        return is_whole


def result_part(nonce: str, token: str, number: int, offset: int) -> bytes:
    """Return a part of a file of a result on this worker; empty if there is none."""
    try:
        return part_of_result(RunContext(nonce, "").own_run, token, number, offset)
    except OSError:
        return b""


def forget_result(nonce: str, token: str) -> None:
    """Delete a result on this worker."""
    delete_result(RunContext(nonce, "").own_run, token)
