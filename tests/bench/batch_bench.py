"""`ohw batch`: what an attempt costs beside its session, and a whole run compared with its sessions alone.

The task has one step, and the model is a server on loopback that answers at once, so everything measured is our own
work. The sessions alone run in as many warm processes at a time as there are cores.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import msgspec

from tests.bench.batch_sessions import MODEL, WARM_UP, processor_time, run_session
from tests.bench.llm_bench import serving
from tests.bench.measure import Measure
from workbench.batch.attempt import TaskAttempt
from workbench.batch.attempt_files import RunContext
from workbench.batch.task import TaskSpec
from workbench.batch.worker import run_attempt

_FINISH = {"calls": [{"name": "finish", "arguments": {"message": "Done."}}]}
_ROUNDS = 30
_TASKS = 1_000
_SESSIONS = 200
"""How many sessions run alone on each core; the time of a thousand tasks is calculated from them."""
_OVERHEAD_MS = 150.0
_FACTOR = 1.3


def measures() -> Iterator[Measure]:
    """Return all measures of this file."""
    with tempfile.TemporaryDirectory(prefix="ohw-bench-") as name, ExitStack() as resources:
        home = Path(name)
        os.environ.update(HOME=name, XDG_DATA_HOME=f"{name}/data", XDG_CONFIG_HOME=name, XDG_STATE_HOME=name)
        (home / "run.json").write_text('{"nonce": "bench"}')
        url, _ = resources.enter_context(serving(home, [_FINISH] * 10 * _TASKS, "batch"))
        session_cpu = _cost(lambda number: run_session(home, url))
        attempt_cpu = _cost(lambda number: _attempt(home, url, number))
        alone, alone_cpu = _sessions_alone(home, url)
        run, run_cpu = _run(home, url)
    overhead = (attempt_cpu - session_cpu) * 1000
    name = "batch: processor time of an attempt beside its session"
    yield Measure(name, overhead, "ms", None, _OVERHEAD_MS, overhead <= _OVERHEAD_MS)
    name = f"batch: {_TASKS:,} one-step tasks, beside their sessions"
    yield Measure(name, run, "s", alone, alone * _FACTOR, run <= alone * _FACTOR)
    yield Measure(f"batch: processor time of {_TASKS:,} one-step tasks", run_cpu, "s", alone_cpu, None, True)


def _cost(work: Callable[[int], object]) -> float:
    """Return the seconds of processor time, with child processes, that one call takes."""
    for number in range(-WARM_UP, 0):
        work(number)
    used = processor_time()
    for number in range(_ROUNDS):
        work(number)
    return (processor_time() - used) / _ROUNDS


def _attempt(home: Path, url: str, number: int) -> None:
    task = TaskSpec(f"t{number}", "Do it.", mode="high")
    context = RunContext("bench", str(home), {"api_base": url})
    run_attempt(msgspec.json.encode(TaskAttempt(task, MODEL, 1)), msgspec.json.encode(context))


def _sessions_alone(home: Path, url: str) -> tuple[float, float]:
    """Return the seconds that the sessions of all tasks take on all cores, and their processor time."""
    cores = len(os.sched_getaffinity(0))
    words = [sys.executable, "-m", "tests.bench.batch_sessions", str(home), url, str(_SESSIONS)]
    with ExitStack() as resources:
        processes = [
            resources.enter_context(subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
            for _ in range(cores)
        ]
        for process in processes:
            assert process.stdout is not None
            process.stdout.readline()
        began = time.perf_counter()
        for process in processes:
            assert process.stdin is not None
            print(file=process.stdin, flush=True)
        used = sum(float(process.communicate()[0]) for process in processes)
        factor = _TASKS / (_SESSIONS * cores)
        return (time.perf_counter() - began) * factor, used * factor


def _run(home: Path, url: str) -> tuple[float, float]:
    """Return the seconds that one command takes for all tasks, and its processor time."""
    rows = [{"id": f"t{number}", "prompt": "Do it.", "mode": "high"} for number in range(_TASKS)]
    (home / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = [sys.executable, "-m", "workbench", "batch", "tasks.jsonl", "-o", "out"]
    words += ["--model", MODEL, "--api-base", url]
    began, used = time.perf_counter(), processor_time()
    subprocess.run(words, cwd=home, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began, processor_time() - used
