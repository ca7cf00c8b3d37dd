"""All that is known of one attempt, as text: what came of it, its figures, and the ends of what commands printed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Final

from workbench.batch.attempt import AttemptOutcome
from workbench.batch.attempt_progress import AttemptProgress
from workbench.batch.attempt_states import PENDING, WAITING, state_sign
from workbench.batch.figures import amount, duration, money
from workbench.batch.progress import latest_activity
from workbench.batch.run_directory import RunDirectory
from workbench.batch.watched_run import AttemptStatus
from workbench.text import counted, visible

_TAIL_BYTES: Final = 16_000
_TAIL_LINES: Final = 20
_LARGEST_LOG: Final = 5_000_000
_ELSEWHERE: Final = (
    "It has not started, or it runs on another machine whose files are not in this directory; its session can be "
    "opened here once it has ended."
)
_NO_SESSION: Final = "Its session cannot be opened: it has not started yet, or runs on another machine."


def attempt_text(directory: RunDirectory, status: AttemptStatus, now: float) -> str:
    """Return the page of an attempt at `now`, in seconds since the epoch; reads the ends of its logs."""
    files = directory.of_attempt(status.attempt.key)
    parts = [
        ("ATTEMPT", "\n".join(f"  {name:<10} {value}" for name, value in _facts(status, now))),
        ("CHECK OUTPUT", _tail(files / "check.log")),
        ("SETUP OUTPUT", _tail(files / "setup.log")),
        ("PROMPT", _indented(status.attempt.task.prompt)),
    ]
    return "\n\n".join(f"{heading}\n{text}" for heading, text in parts if text)


def _facts(status: AttemptStatus, now: float) -> Iterator[tuple[str, str]]:
    outcome, state, task = status.outcome, status.state, status.attempt.task
    yield "task", " · ".join((task.id, *task.tags))
    yield "model", visible(status.attempt.model, lines=False)
    yield "attempt", str(status.attempt.number)
    yield "state", f"{state_sign(state)} {'waiting for an answer' if state == WAITING else state}"
    if status.question:
        yield "question", status.question
    if outcome is not None:
        yield from _facts_of_outcome(outcome)
    elif state == PENDING:
        yield "", _ELSEWHERE
    elif status.since:
        yield from _facts_of_running(status, now)
    if task.check:
        yield "check", visible(task.check, lines=False) + _check_result(outcome)
    if task.setup:
        yield "setup", visible(task.setup, lines=False)


def _facts_of_running(status: AttemptStatus, now: float) -> Iterator[tuple[str, str]]:
    if status.progress is not None:
        yield from _spent(status.progress)
        if activity := latest_activity(status.progress, now):
            yield "activity", activity
    yield "started", _clock(status.since)
    if not status.session:
        yield "", _NO_SESSION


def _spent(spent: AttemptOutcome | AttemptProgress) -> Iterator[tuple[str, str]]:
    yield "steps", str(spent.steps)
    cached = f" ({amount(spent.cached)} cached)" if spent.cached else ""
    yield "tokens", f"{amount(spent.input)} in{cached} · {amount(spent.output)} out"
    yield "cost", money(spent.cost, spent.unpriced)


def _facts_of_outcome(outcome: AttemptOutcome) -> Iterator[tuple[str, str]]:
    if outcome.detail:
        yield "reason", visible(outcome.detail, lines=False)
    yield from _spent(outcome)
    yield "time", f"{duration(outcome.total_seconds)}, of which the agent {duration(outcome.seconds)}"
    if outcome.started:
        yield "started", _clock(outcome.started)
    yield "changes", counted(outcome.patch_lines, "line") if outcome.patch else "none"
    if outcome.worker:
        yield "worker", visible(outcome.worker, lines=False)
    if outcome.workspace:
        yield "workspace", visible(outcome.workspace, lines=False)


def _check_result(outcome: AttemptOutcome | None) -> str:
    if outcome is None or outcome.solved is None:
        return "" if outcome is None else "   (did not run)"
    if outcome.check_status is None:
        return "   (did not end by itself)"
    return f"   (exit code {outcome.check_status})"


def _clock(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds):%Y-%m-%d %H:%M:%S}"


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.strip().splitlines())


def _tail(path: Path) -> str:
    """Return the last lines of a file; empty if there is none."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL_BYTES))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError:
        return ""
    if size > _TAIL_BYTES or len(lines) > _TAIL_LINES:
        lines = ["…", *lines[-_TAIL_LINES:]]
    return "\n".join(f"  {line}" for line in lines)


def log_text(path: Path) -> str:
    """Return what a command printed, of a very long text the end. Raises OSError."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _LARGEST_LOG))
        return file.read().decode(errors="replace")
