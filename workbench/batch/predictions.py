"""Makes the predictions of a run: the patch for each task, in the format that SWE-bench evaluates."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from workbench.batch.attempt import AttemptOutcome, planned
from workbench.batch.results import read_outcomes
from workbench.batch.run_directory import RunDirectory
from workbench.errors import UsageError, WorkbenchError
from workbench.text import visible, visible_path


class Prediction(msgspec.Struct, frozen=True):
    """A line of `predictions.jsonl`."""

    instance_id: str
    model_name_or_path: str
    model_patch: str
    """For `git apply`; empty if the attempt has changed nothing."""


class Predictions(msgspec.Struct, frozen=True):
    """The predictions of one model, one for each task that has ended, in the order of the tasks."""

    model: str
    predictions: Sequence[Prediction]
    unfinished: Sequence[str]
    """The tasks that have no outcome yet."""
    inexact: Sequence[str]
    """The tasks whose patch changes text that is not UTF-8, which no prediction can contain: it will hardly apply."""

    def encoded(self) -> bytes:
        """Return the predictions as JSON lines."""
        return b"".join(msgspec.json.encode(each) + b"\n" for each in self.predictions)


def predictions_of(run: RunDirectory, model: str = "", attempt: int = 1) -> Predictions:
    """Return the predictions of one attempt at each task.

    `model` may be empty if the run has only one. Raises UsageError if it has several, or does not have this one, or has
    fewer attempts, and WorkbenchError if the run cannot be read.
    """
    if not run.exists:
        raise UsageError(f"there is no run in {visible_path(str(run.path))}")
    options, tasks, outcomes = run.options(), run.tasks(), read_outcomes(run.results)
    attempts = max([options.attempts, *(each.attempt for each in outcomes)])
    if not 1 <= attempt <= attempts:
        raise UsageError(f"there is no attempt {attempt} in this run, which has {attempts}")
    of_plan = [(each.model, each.task.id) for each in planned(tasks, options.models, 1)]
    model = _only([*(name for name, _ in of_plan), *(each.model for each in outcomes)], model)
    by_task = {each.task: each for each in outcomes if (each.model, each.attempt) == (model, attempt)}
    expected = {task for name, task in of_plan if name == model} | set(by_task)
    predictions, unfinished, inexact = [], [], []
    for task in (each.id for each in tasks if each.id in expected):
        outcome = by_task.get(task)
        if outcome is None or outcome.ending == "interrupted":
            unfinished.append(task)
            continue
        text, is_exact = _text(_patch(run, outcome))
        predictions.append(Prediction(task, model, text))
        if not is_exact:
            inexact.append(task)
    return Predictions(model, predictions, unfinished, inexact)


def _only(models: Sequence[str], model: str) -> str:
    """Return the model if it is among these, or the only one if it is empty. Raises UsageError."""
    names = list(dict.fromkeys(models))
    listed = ", ".join(visible(each, lines=False) for each in names)
    if model and model not in names:
        raise UsageError(f"there is no model {model!r} in this run, which has {listed}")
    if not model and len(names) != 1:
        raise UsageError(f"this run has several models: choose one with --model: {listed}")
    return model or names[0]


def _patch(run: RunDirectory, outcome: AttemptOutcome) -> bytes:
    if not outcome.patch:
        return b""
    try:
        return (run.path / outcome.patch).read_bytes()
    except OSError as error:
        raise WorkbenchError(f"{outcome.patch} of the run cannot be read: {error.strerror or error}") from None


def _text(patch: bytes) -> tuple[str, bool]:
    """Return a patch as text, and whether it is exactly this patch."""
    try:
        return patch.decode(), True
    except UnicodeDecodeError:
        return patch.decode(errors="replace"), False
