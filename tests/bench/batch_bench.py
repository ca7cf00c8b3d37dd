"""`ohw batch`: what an attempt costs beside its session, and a whole run compared with its sessions one after another.

The task has one step; the model is a script without pauses, so everything measured is our own work.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from tests.bench.measure import Measure
from workbench.batch.answer_wait import AnswerWait
from workbench.batch.attempt import TaskAttempt
from workbench.batch.attempt_files import RunContext
from workbench.batch.attempt_session import AttemptRun
from workbench.batch.task import TaskSpec
from workbench.batch.worker import run_attempt
from workbench.config.locations import Locations
from workbench.config.settings import load_settings
from workbench.llm.model import Cancel
from workbench.session.session_factory import start_session
from workbench.session.session_names import new_id

_SCRIPT = '[[turn]]\nname = "end"\n[[turn.call]]\ntool = "finish"\narguments = { message = "Done." }\n'
_ROUNDS = 30
_TASKS = 1_000
_OVERHEAD_MS = 150.0
_FACTOR = 1.3


def measures() -> Iterator[Measure]:
    """Return all measures of this file."""
    with tempfile.TemporaryDirectory(prefix="ohw-bench-") as name:
        home = Path(name)
        own = {"HOME": name, "XDG_DATA_HOME": f"{name}/data", "XDG_CONFIG_HOME": name, "XDG_STATE_HOME": name}
        os.environ.update(own, OHW_SCRIPT_PACE="0")
        (home / "script.toml").write_text(_SCRIPT)
        (home / "run.json").write_text('{"nonce": "bench"}')
        model = f"scripted/{home / 'script.toml'}"
        session_cpu, session_wall = _cost(lambda number: _session(home, model))
        attempt_cpu, _ = _cost(lambda number: _attempt(home, model, number))
        run_wall = _run(home, model)
    overhead = (attempt_cpu - session_cpu) * 1000
    name = "batch: processor time of an attempt beside its session"
    yield Measure(name, overhead, "ms", None, _OVERHEAD_MS, overhead <= _OVERHEAD_MS)
    alone = max(session_cpu, session_wall) * _TASKS / len(os.sched_getaffinity(0))
    name = f"batch: {_TASKS:,} one-step tasks, beside their sessions"
    yield Measure(name, run_wall, "s", alone, alone * _FACTOR, run_wall <= alone * _FACTOR)


def _cost(work: Callable[[int], object]) -> tuple[float, float]:
    """Return the seconds of processor time, with child processes, and of real time that one call takes."""
    for number in range(-3, 0):
        work(number)
    used, began = _used(), time.perf_counter()
    for number in range(_ROUNDS):
        work(number)
    return (_used() - used) / _ROUNDS, (time.perf_counter() - began) / _ROUNDS


def _used() -> float:
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def _session(home: Path, model: str) -> None:
    locations = Locations.from_environment()
    with tempfile.TemporaryDirectory(dir=home) as workspace:
        settings = load_settings(locations, model=model, mode="high")
        opened = start_session(
            locations,
            settings,
            Path(workspace),
            new_id("bench"),
            on_event=lambda event: None,
            on_live=lambda event: None,
        )
        AttemptRun(opened, Cancel(), AnswerWait(0, lambda question: None)).drive("Do it.", 0)
        opened.close()


def _attempt(home: Path, model: str, number: int) -> None:
    task = TaskSpec(f"t{number}", "Do it.", mode="high")
    context = RunContext("bench", str(home))
    run_attempt(msgspec.json.encode(TaskAttempt(task, model, 1)), msgspec.json.encode(context))


def _run(home: Path, model: str) -> float:
    """Return the seconds that one command takes for all tasks."""
    rows = [{"id": f"t{number}", "prompt": "Do it.", "mode": "high"} for number in range(_TASKS)]
    (home / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = [sys.executable, "-m", "workbench", "batch", "tasks.jsonl", "-o", "out", "--model", model]
    began = time.perf_counter()
    subprocess.run(words, cwd=home, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began
