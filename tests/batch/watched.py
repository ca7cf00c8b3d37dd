"""Runs for the screen that watches one: finished, failed and running ones, and one with 20,000 attempts."""

from __future__ import annotations

import fcntl
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from tests.batch.outcomes import LARGE, SMALL, outcome, solved, unsolved, write_run
from workbench.batch.attempt import AttemptOutcome, TaskAttempt
from workbench.batch.attempt_progress import AttemptProgress
from workbench.batch.task import TaskSpec

MODELS = ("lab/small", "lab/large", "anthropic/claude-sonnet-4-5")
START = 1_700_000_000.0
PATCH = b"""\
diff --git a/src/prices.py b/src/prices.py
index 1111111..2222222 100644
--- a/src/prices.py
+++ b/src/prices.py
@@ -11,4 +11,6 @@ TAX = {"de": 0.19}
 def gross(price, quantity, country):
-    rate = TAX[country]
+    try:
+        rate = TAX[country]
+    except KeyError:
+        raise ValueError(f"no tax rate for {country}") from None
     return price * quantity * (1 + rate)
"""


def tasks(count: int) -> list[TaskSpec]:
    return [
        TaskSpec(
            f"shop-{number:02}",
            prompt="Fix the rounding in total().\nKeep its signature.",
            check="pytest -q",
            tags=["money"] if number % 3 == 0 else [],
        )
        for number in range(1, count + 1)
    ]


def mixed_outcomes(
    specs: list[TaskSpec], models: tuple[str, ...] = MODELS, attempts: int = 3, start: float = START
) -> list[AttemptOutcome]:
    """Return outcomes of all kinds, the same ones each time; the first attempt started at `start`."""
    chance = random.Random(3)
    results = []
    for number, (attempt, spec, model) in enumerate(
        (attempt, spec, model) for attempt in range(1, attempts + 1) for spec in specs for model in models
    ):
        more = {
            "total_seconds": 20.0 + number % 7 * 11,
            "started": start + number * 9,
            "seconds": 18.0,
            "cost": 0.02 * (1 + models.index(model)) * (1 + number % 5),
            "steps": 4 + number % 9,
            "worker": "build-7:4711",
        }
        kind = chance.random()
        if kind < 0.5:
            results.append(solved(spec.id, model, attempt, patch="x", patch_lines=5, **more))
        elif kind < 0.8:
            results.append(unsolved(spec.id, model, attempt, **more))
        else:
            ending, detail = chance.choice(
                [
                    ("question", "HIGH: Run the installer needs an approval"),
                    ("limit", "max_steps: paused after 40 steps"),
                    ("error", "the model server could not be reached"),
                    ("setup", "setup: exit code 1"),
                ]
            )
            results.append(outcome(spec.id, model, attempt, ending=ending, detail=detail, **more))
    return results


def finished_run(path: Path) -> Path:
    specs = tasks(14)
    write_run(path, specs, mixed_outcomes(specs), MODELS)
    os.utime(path / "run.json", (START, START))
    return path


def failed_run(path: Path) -> Path:
    """Write a run that was interrupted, in which every attempt so far failed, mostly at its setup."""
    specs = tasks(9)
    setup: dict[str, Any] = {"ending": "setup", "detail": "setup: exit code 127: uv: command not found"}
    copy: dict[str, Any] = {"ending": "workspace", "detail": "there is no ../shop on this worker"}
    failures = [
        outcome(spec.id, SMALL, 1, cost=0.0, steps=0, **(copy if number % 4 == 3 else setup))
        for number, spec in enumerate(specs[:7])
    ]
    failures.append(outcome(specs[7].id, SMALL, 1, ending="interrupted", cost=0.03))
    write_run(path, specs, failures, (SMALL,))
    files = path / "attempts" / TaskAttempt(specs[1], SMALL, 1).key
    files.mkdir()
    (files / "setup.log").write_text("$ uv pip install -e .\n/bin/sh: 1: uv: not found\n")
    return path


@contextmanager
def running_run(path: Path, *, now: float) -> Iterator[Path]:
    """Write a run of which some attempts have ended and four run, one of which waits; it runs in the context."""
    specs = tasks(12)
    ended = mixed_outcomes(specs, (SMALL, LARGE), 2, start=now - 300)[:27]
    at = [TaskAttempt(specs[number], model, 2) for number, model in ((1, LARGE), (2, SMALL), (2, LARGE), (3, SMALL))]
    write_run(path, specs, ended, (SMALL, LARGE))
    os.utime(path / "run.json", (now - 300, now - 300))
    locks = [_locked(path / "lock", now)]
    for number, attempt in enumerate(at):
        files = path / "attempts" / attempt.key
        files.mkdir()
        (files / "session").write_text(f"20261121-{attempt.task.id}-{number:04x}")
        locks.append(_locked(files / "lock", now - 12 * number))
        if number:  # the first one has just started
            write_progress(files, steps=2 * number, cost=0.04 * number, at=now - 3 * number)
    (files / "question").write_text("MEDIUM: Install the dependencies needs an approval\n")
    try:
        yield path
    finally:
        for lock in locks:
            os.close(lock)


def write_progress(files: Path, **more: Any) -> None:
    """Write what a running attempt has spent so far, as its worker does."""
    fields = {"input": 21_000, "output": 400, "activity": "Run the tests", **more}
    (files / "progress").write_bytes(msgspec.json.encode(AttemptProgress(**fields)))


def _locked(path: Path, since: float) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    os.utime(path, (since, since))
    return descriptor


def attempt_files(run: Path, task: TaskSpec, model: str, number: int) -> Path:
    """Write a patch and the output of a check for an attempt, and return their directory."""
    files = run / "attempts" / TaskAttempt(task, model, number).key
    files.mkdir(exist_ok=True)
    (files / "changes.patch").write_bytes(PATCH)
    (files / "check.log").write_text("....F\n1 failed, 4 passed in 0.12s\n")
    return files
