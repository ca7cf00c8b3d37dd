"""Runs of `ohw batch` in tests: their tasks, what they leave, and the processes of a real scheduler with workers."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.sandbox import Sandbox, wait_for
from workbench.batch.attempt import AttemptOutcome
from workbench.batch.results import read_outcomes

WRITE = {
    "tool": "str_replace_editor",
    "risk": "LOW",
    "arguments": {"command": "create", "path": "{workspace}/made.txt", "file_text": "made\n"},
}
FINISH = {"tool": "finish", "arguments": {"message": "Done."}}
CHECK = "grep -q made made.txt"
QUICK = {"OHW_SCRIPT_PACE": "0"}


def write_tasks(sandbox: Sandbox, *rows: Mapping[str, Any]) -> str:
    """Write a task file into the project, and return its name."""
    (sandbox.project / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return "tasks.jsonl"


def task(number: int, **fields: Any) -> dict[str, Any]:
    """Return a task that the script with `WRITE` solves."""
    return {"id": f"t{number}", "prompt": "Make the file.", "check": CHECK, "mode": "edits", **fields}


class BatchClient(subprocess.Popen[str]):
    """The process of `ohw batch`; a test that fails kills it instead of waiting for its end."""

    def __exit__(self, kind: type[BaseException] | None, *rest: Any) -> None:
        if kind is not None:
            self.kill()
        super().__exit__(kind, *rest)


def start_batch(sandbox: Sandbox, *arguments: str, **env: str) -> BatchClient:
    """Start `ohw batch` without a sandbox, which the tests of the sandbox prove, in the project's directory."""
    words = [sys.executable, "-m", "workbench", "batch", "--sandbox", "off", *arguments]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    # With a group of its own, as a shell with job control starts it, so that tests can press Ctrl+C.
    return BatchClient(words, cwd=sandbox.project, env={**sandbox.env, **QUICK, **env}, start_new_session=True, **pipes)


def press_ctrl_c(client: subprocess.Popen[str]) -> None:
    """Send the client and its workers what a terminal sends them."""
    os.killpg(client.pid, signal.SIGINT)


def run_batch(sandbox: Sandbox, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run `ohw batch` to its end."""
    with start_batch(sandbox, *arguments, **env) as process:
        stdout, stderr = process.communicate(timeout=200)
    return subprocess.CompletedProcess(arguments, process.returncode, stdout, stderr)


def outcomes(sandbox: Sandbox, run: str = "run") -> dict[str, AttemptOutcome]:
    """Return the outcomes of a run with one attempt a task, by task."""
    return {each.task: each for each in read_outcomes(sandbox.project / run / "results.sqlite")}


def patch_of(sandbox: Sandbox, outcome: AttemptOutcome, run: str = "run") -> str:
    return (sandbox.project / run / outcome.patch).read_text()


def sessions(sandbox: Sandbox, run: str = "run") -> list[Path]:
    return sorted((sandbox.project / run / "sessions").glob("*.session"))


class DaskCluster:
    """A scheduler with workers, each a process of its own; workers can be killed and started again."""

    def __init__(self, sandbox: Sandbox, directory: Path) -> None:
        self._sandbox = sandbox
        self._file = directory / "scheduler.json"
        self._directory = directory
        self.workers: list[subprocess.Popen[bytes]] = []
        self.scheduler = self._start("scheduler", "--port", "0", "--no-dashboard", "--host", "127.0.0.1")

    @property
    def url(self) -> str:
        """The URL for `--scheduler`."""
        wait_for(lambda: self._file.exists() and self._file.read_text().strip().endswith("}"), "the scheduler")
        return str(json.loads(self._file.read_text())["address"])

    def add_worker(self, *wrapper: str, **env: str) -> None:
        """Start a worker that runs one attempt at a time, in another program if `wrapper` names one."""
        words = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(self._directory)]
        self.workers.append(self._start("worker", *words, wrapper=wrapper, **env))

    def _start(self, kind: str, *words: str, wrapper: Sequence[str] = (), **more: str) -> subprocess.Popen[bytes]:
        command = [*wrapper, sys.executable, "-m", "dask", kind, "--scheduler-file", str(self._file), *words]
        log = (self._directory / f"{kind}.log").open("ab")
        with log:
            # The tests kill workers faster than dask, for which a task is to blame after three of them, expects.
            env = {**self._sandbox.env, **QUICK, "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "30", **more}
            return subprocess.Popen(command, cwd=self._directory, env=env, stdout=log, stderr=log)

    def close(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


@contextlib.contextmanager
def dask_cluster(sandbox: Sandbox, directory: Path, workers: int) -> Iterator[DaskCluster]:
    cluster = DaskCluster(sandbox, directory)
    try:
        for _ in range(workers):
            cluster.add_worker()
        yield cluster
    finally:
        cluster.close()
