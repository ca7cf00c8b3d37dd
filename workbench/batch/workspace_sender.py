"""Gives workers the archives of workspaces that they lack, one after another, beside the run."""

from __future__ import annotations

import queue
import secrets
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec

from workbench.batch.attempt import TaskAttempt
from workbench.batch.attempt_files import RunContext
from workbench.batch.cluster import Cluster
from workbench.batch.workspace_archives import MOST_SENT, checked_name, make_archive, store_part
from workbench.batch.workspaces import NoWorkspace
from workbench.errors import WorkbenchError
from workbench.text import visible_path

_PART: Final = 4 << 20
"""Bytes of an archive in one message. The scheduler, which passes them on, never has more of it in its memory."""


class SentArchive(msgspec.Struct, frozen=True):
    """A worker that has got an archive, if it was not lost meanwhile; or the problem, if there is one."""

    worker: str = ""
    problem: str = ""


class WorkspaceSender:
    """Makes archives and sends them to workers, in a thread of its own."""

    def __init__(self, cluster: Cluster, context: RunContext) -> None:
        self._cluster = cluster
        self._context = context
        self._run = Path(context.directory)
        self._requests: queue.SimpleQueue[tuple[TaskAttempt, Any, Callable[[SentArchive], None]]] = queue.SimpleQueue()
        self._is_started = False

    def send(self, attempt: TaskAttempt, reply: Any, then: Callable[[SentArchive], None]) -> None:
        """Give the worker with the result `reply` the archive that its attempt needs.

        Calls `then` in another thread once it has it, or with the reason why not.
        """
        if not self._is_started:
            self._is_started = True
            threading.Thread(target=self._serve, name="ohw-workspaces", daemon=True).start()
        self._requests.put((attempt, reply, then))

    def _serve(self) -> None:
        while True:
            attempt, reply, then = self._requests.get()
            worker = self._cluster.worker_of(reply)
            then(SentArchive(worker, self._problem(attempt, worker)))

    def _problem(self, attempt: TaskAttempt, worker: str) -> str:
        """Send the archive of an attempt's workspace; return the reason if that is not possible, else ""."""
        shared = self._context.shared_run
        try:
            if shared is not None:
                make_archive(attempt.task, shared / "archives", self._run, None)
                return ""
            archive = make_archive(attempt.task, self._run / "archives", self._run, MOST_SENT)
            return self._upload(archive, worker)
        except NoWorkspace as error:
            return str(error)
        except (WorkbenchError, OSError) as error:
            return f"{visible_path(attempt.task.workspace)} cannot be sent to a worker: {error}"

    def _upload(self, archive: Path, worker: str) -> str:
        """Send an archive to the worker that asked for it, unless it has it by now; return the reason if it cannot be
        stored. A worker that is lost meanwhile is no reason: the attempt is tried again elsewhere.
        """
        name = checked_name(archive.name)
        directory = self._cluster.call(worker, archives_of, self._context.nonce, name)
        if not isinstance(directory, str) or not directory:
            return ""
        upload, size = secrets.token_hex(6), archive.stat().st_size
        with archive.open("rb") as file:
            while data := file.read(_PART):
                is_last = file.tell() >= size
                problem = self._cluster.call(worker, store_part, directory, name, upload, data, is_last=is_last)
                if problem is None:
                    return ""
                if problem:
                    return f"the workspace cannot be stored on the worker {worker}: {problem}"
        return ""


def archives_of(nonce: str, name: str) -> str:
    """Return the directory for archives on this worker, or empty if it has this one already."""
    directory = RunContext(nonce, "").local_data / "archives"
    return "" if (directory / checked_name(name)).exists() else str(directory)
