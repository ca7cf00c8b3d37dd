"""`ohw batch predictions`: which attempt of which model becomes the prediction for each task."""

from __future__ import annotations

import json
from contextlib import closing
from typing import Any

import msgspec

from tests.sandbox import Sandbox
from workbench.batch.attempt import AttemptOutcome, Ending
from workbench.batch.results import Results
from workbench.batch.run_directory import RunDirectory, RunOptions
from workbench.batch.task import TaskSpec

NO_PATCH = b""


def write_run(sandbox: Sandbox, *outcomes: tuple[AttemptOutcome, bytes], **options: Any) -> None:
    """Write the run of two tasks, with these outcomes and patches."""
    tasks = [TaskSpec(f"t{number}", "Go.") for number in (1, 2)]
    with closing(RunDirectory(sandbox.project / "run")) as run:
        run.create(RunOptions(**{"models": ("a",), **options}), tasks)
        with closing(Results(run.results)) as results:
            for number, (outcome, patch) in enumerate(outcomes):
                path = f"attempts/{number}.patch" if patch else ""
                results.add(msgspec.structs.replace(outcome, patch=path))
                if patch:
                    (run.path / path).write_bytes(patch)


def ended(task: str, model: str = "a", attempt: int = 1, ending: Ending = "finished") -> AttemptOutcome:
    return AttemptOutcome(task, model, attempt, ending)


def write_predictions(sandbox: Sandbox, *words: str) -> tuple[list[tuple[str, str, str]], str]:
    """Return the ID, model and patch of each prediction that the command writes, and what it complains about."""
    done = sandbox.command("batch", "predictions", "run", "-o", "out.jsonl", *words)
    assert done.returncode == 0, done.stderr
    lines = (sandbox.project / "out.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    assert all(list(row) == ["instance_id", "model_name_or_path", "model_patch"] for row in rows)
    return [tuple(row.values()) for row in rows], done.stderr


def test_each_task_has_one_line_in_the_order_of_the_tasks(sandbox: Sandbox):
    write_run(sandbox, (ended("t2"), b"two\n"), (ended("t1", ending="limit"), b"one\n"))
    assert write_predictions(sandbox) == ([("t1", "a", "one\n"), ("t2", "a", "two\n")], "")


def test_an_attempt_without_changes_is_an_empty_prediction(sandbox: Sandbox):
    write_run(sandbox, (ended("t1"), NO_PATCH), (ended("t2", ending="workspace"), NO_PATCH))
    assert write_predictions(sandbox) == ([("t1", "a", ""), ("t2", "a", "")], "")


def test_a_task_that_has_not_ended_has_no_line_and_is_named(sandbox: Sandbox):
    write_run(sandbox, (ended("t1", ending="interrupted"), b"half\n"))
    rows, complaint = write_predictions(sandbox)
    assert (rows, complaint) == ([], "ohw: not finished, and without a prediction: t1, t2\n")


def test_another_attempt_can_be_chosen(sandbox: Sandbox):
    firsts = [(ended("t1"), b"one\n"), (ended("t2"), b"one\n")]
    seconds = [(ended("t1", attempt=2), b"two\n"), (ended("t2", attempt=2), NO_PATCH)]
    write_run(sandbox, *firsts, *seconds, attempts=2)
    assert [row[2] for row in write_predictions(sandbox)[0]] == ["one\n", "one\n"]
    assert [row[2] for row in write_predictions(sandbox, "--attempt", "2")[0]] == ["two\n", ""]
    refused = sandbox.command("batch", "predictions", "run", "--attempt", "3")
    assert (refused.returncode, "no attempt 3 in this run, which has 2" in refused.stderr) == (2, True)


def test_a_run_with_several_models_needs_one_of_them(sandbox: Sandbox):
    write_run(sandbox, (ended("t1", "a"), b"of a\n"), (ended("t1", "b/c"), b"of b\n"), models=("a", "b/c"))
    refused = sandbox.command("batch", "predictions", "run")
    assert (refused.returncode, "choose one with --model: a, b/c" in refused.stderr) == (2, True)
    absent = sandbox.command("batch", "predictions", "run", "--model", "d")
    assert (absent.returncode, "no model 'd' in this run, which has a, b/c" in absent.stderr) == (2, True)
    assert write_predictions(sandbox, "--model", "b/c")[0] == [("t1", "b/c", "of b\n")]
    assert not (sandbox.project / "run/predictions.jsonl").exists()


def test_a_patch_that_is_not_utf_8_is_named(sandbox: Sandbox):
    write_run(sandbox, (ended("t1"), b"+caf\xe9\n"), (ended("t2"), "+café\n".encode()))
    rows, complaint = write_predictions(sandbox)
    assert [row[2] for row in rows] == ["+caf\N{REPLACEMENT CHARACTER}\n", "+café\n"]
    assert complaint.endswith("not UTF-8, and may not apply: t1\n")


def test_a_directory_without_a_run_is_named(sandbox: Sandbox):
    done = sandbox.command("batch", "predictions", "nothing")
    assert (done.returncode, "there is no run in" in done.stderr) == (2, True)


def test_the_help_of_batch_names_the_command(sandbox: Sandbox):
    assert "ohw batch predictions" in sandbox.command("batch", "--help").stdout
    assert "--attempt N" in sandbox.command("batch", "predictions", "--help").stdout
