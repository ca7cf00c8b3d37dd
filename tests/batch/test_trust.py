"""What workers report and what files of a run say is checked, and nothing is lost when a run is repeated."""

from __future__ import annotations

import fcntl
import json
import shutil
import sqlite3
import stat
from pathlib import Path

import msgspec
import pytest

from tests.batch.runs import FINISH, WRITE, outcomes, run_batch, sessions, task, write_tasks
from tests.batch.test_attempts import Worker, worker
from tests.sandbox import Sandbox
from tests.system_packages import found_or_installed
from workbench.batch.attempt import AttemptOutcome, TaskAttempt
from workbench.batch.attempt_files import AttemptFiles, Report
from workbench.batch.model_settings import with_model
from workbench.batch.task import InvalidTask, TaskSpec
from workbench.config.settings import Settings
from workbench.errors import WorkbenchError
from workbench.llm.model import Cancel
from workbench.protocol.events import ActionObserved
from workbench.session.storage.store import Store

__all__ = ["worker"]
ATTEMPT = TaskAttempt(TaskSpec("t", "x"), "m", 1)
OWN = f"attempts/{ATTEMPT.key}"


@pytest.mark.parametrize(
    ("fields", "files"),
    [
        ({"task": "other"}, ()),
        ({"session": "../../victim"}, ()),
        ({"patch": "/etc/hostname"}, ()),
        ({"patch": "attempts/other/changes.patch"}, ()),
        ({}, ("run.json",)),
        ({}, ("results.sqlite",)),
        ({}, (f"{OWN}/../other/x",)),
        ({}, (f"{OWN}/lock",)),
        ({"session": "a"}, ("sessions/b.session",)),
        ({}, ("/etc/cron.d/x",)),
    ],
)
def test_report_of_a_worker_reaches_only_files_of_its_attempt(fields: dict[str, str], files: tuple[str, ...]):
    outcome = AttemptOutcome(**{"task": "t", "model": "m", "attempt": 1, "ending": "finished", **fields})
    with pytest.raises(WorkbenchError, match="names that are not its own"):
        Report(outcome, dict.fromkeys(files, b"x")).check(ATTEMPT)


def test_report_with_its_own_names_is_accepted():
    outcome = AttemptOutcome("t", "m", 1, "finished", session="20261130-t-1f2e", patch=f"{OWN}/changes.patch")
    files = {f"{OWN}/changes.patch": b"x", "sessions/20261130-t-1f2e.session": b"x"}
    assert Report(outcome, files).check(ATTEMPT) is None


def test_stored_outcome_with_other_names_is_not_believed(worker: Worker):
    first = worker.run()
    (stored,) = worker.directory.glob("attempts/*/outcome.json")
    stored.write_bytes(msgspec.json.encode(msgspec.structs.replace(first, session="../../victim")))
    assert worker.run().session != "../../victim"


def test_canceled_attempt_does_not_wait_for_the_one_that_runs(worker: Worker):
    directory = worker.directory / "attempts" / ATTEMPT.key
    directory.mkdir(parents=True)
    cancel = Cancel()
    with (directory / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        cancel.set()
        with AttemptFiles.locked(worker.context, ATTEMPT, cancel) as files:
            assert files is None


def test_repository_without_a_commit_in_the_workspace_costs_no_outcome(worker: Worker):
    command = {"tool": "execute_bash", "risk": "LOW", "arguments": {"command": "git init -q sub; echo a > sub/a"}}
    worker.model = worker.sandbox.script(command, WRITE, FINISH)
    outcome = worker.run(mode="high", check="test -f made.txt")
    assert (outcome.state, outcome.steps) == ("solved", 3)
    assert "made.txt" in worker.file("changes.patch")


def test_worker_refuses_to_never_ask_without_a_sandbox(worker: Worker):
    outcome = worker.run(mode="never")
    assert (outcome.ending, outcome.steps) == ("error", 0)
    assert "needs an image, or a sandbox that is not optional" in outcome.detail


def test_value_that_no_file_can_have_is_an_outcome_and_not_the_end_of_the_run(worker: Worker):
    for fields in ({"workspace": "/a\0b"}, {"setup": "\ud800"}, {"id": "../up"}):
        spec = TaskSpec(**{"id": "t", "prompt": "x", **fields})
        with pytest.raises(InvalidTask):
            spec.validate()
    assert worker.run(workspace="/a\0b").ending == "worker"


def test_token_in_a_url_is_in_no_outcome(worker: Worker):
    outcome = worker.run(workspace="https://me:s3cret-t0ken@127.0.0.1:1/a.git")
    assert outcome.ending == "workspace"
    assert "s3cret" not in repr(outcome)
    assert "127.0.0.1" in outcome.detail


def test_run_is_private_and_its_changed_tasks_are_refused(sandbox: Sandbox):
    model = sandbox.script(WRITE, FINISH)
    assert run_batch(sandbox, write_tasks(sandbox, task(1)), "-o", "run", "--model", model).returncode == 0
    run = sandbox.project / "run"
    assert stat.S_IMODE(run.stat().st_mode) == 0o700
    same = json.dumps({"id": "a", "prompt": "x"})
    for content in ("", json.dumps({"id": "../../x", "prompt": "x"}), f"{same}\n{same}"):
        (run / "tasks.jsonl").write_text(content)
        done = run_batch(sandbox, "--resume", "-o", "run")
        assert (done.returncode, done.stdout) == (2, "")
        assert "tasks.jsonl" in done.stderr
    assert not list(sandbox.project.parent.rglob("x-*"))


def test_resumed_run_adds_models_and_flags(sandbox: Sandbox):
    first = sandbox.script(WRITE, FINISH)
    (sandbox.home / "other.toml").write_text((sandbox.home / "script.toml").read_text())
    assert run_batch(sandbox, write_tasks(sandbox, task(1)), "-o", "run", "--model", first).returncode == 0
    other = f"scripted/{sandbox.home}/other.toml"
    done = run_batch(sandbox, "--resume", "-o", "run", "--models", f" {other} ,{other}", "--max-steps", "7")
    assert (done.returncode, done.stdout.count("✓")) == (0, 1)
    options = json.loads((sandbox.project / "run/run.json").read_text())
    assert (options["models"], options["flags"]["max_steps"]) == ([first, other], "7")
    assert len(sessions(sandbox)) == 2


def test_outcome_that_a_killed_client_did_not_learn_of_is_not_lost_by_a_repetition(sandbox: Sandbox):
    model = sandbox.script(WRITE, FINISH)
    tasks = write_tasks(sandbox, task(1, check="test -f ../../../solved"))
    assert run_batch(sandbox, tasks, "-o", "run", "--model", model).returncode == 0
    assert outcomes(sandbox)["t1"].state == "unsolved"
    stored = next((sandbox.project / "run").glob("attempts/*/outcome.json"))
    solved = msgspec.structs.replace(outcomes(sandbox)["t1"], solved=True)
    # As a client leaves it that is killed during --retry: the row is removed, and the worker has stored a new outcome.
    stored.write_bytes(msgspec.json.encode(solved))
    with sqlite3.connect(sandbox.project / "run/results.sqlite") as connection:
        connection.execute("DELETE FROM attempts")
    connection.close()
    assert run_batch(sandbox, "--resume", "-o", "run").returncode == 0
    assert outcomes(sandbox)["t1"].state == "solved"


@pytest.mark.confined
def test_command_in_the_sandbox_cannot_find_the_checks_of_the_run(sandbox: Sandbox):
    found_or_installed(lambda: shutil.which("bwrap"), "bubblewrap")
    run = sandbox.home / "runs/one"  # not in the project, because temporary directories are hidden anyway
    search = f"cat {run}/tasks.jsonl; grep -rs forty-two {sandbox.home}/runs {sandbox.home}/visible; echo searched"
    (sandbox.home / "visible").write_text("seen: forty-two")
    command = {"tool": "execute_bash", "risk": "LOW", "arguments": {"command": search}}
    rows = write_tasks(sandbox, task(1, mode="never", check="echo forty-two"))
    (sandbox.project / rows).rename(sandbox.home / rows)
    arguments = [str(sandbox.home / rows), "-o", str(run), "--model", sandbox.script(command, FINISH)]
    done = run_batch(sandbox, *arguments, "--sandbox", "workspace-write")
    assert done.returncode == 0, (done.stdout, done.stderr)
    (session,) = (run / "sessions").glob("*.session")
    with Store.open(session, readonly=True) as store:
        (output, *_) = [each.observation.get("output") for each in store.events() if isinstance(each, ActionObserved)]
    assert output.endswith("visible:seen: forty-two\nsearched\n")
    assert output.count("forty-two") == 1


@pytest.mark.confined
def test_check_cannot_write_outside(sandbox: Sandbox):
    found_or_installed(lambda: shutil.which("bwrap"), "bubblewrap")
    outside = sandbox.home / "outside"
    outside.mkdir()
    check = f"touch {outside}/file; touch {sandbox.project}/file; touch inside && echo checked"
    arguments = [write_tasks(sandbox, task(1, check=check)), "-o", "run", "--model", sandbox.script(FINISH)]
    assert run_batch(sandbox, *arguments, "--sandbox", "workspace-write").returncode == 0
    assert "\nchecked\n" in next(sandbox.project.glob("run/attempts/*/check.log")).read_text()
    assert not list(outside.iterdir())
    assert not (sandbox.project / "file").exists()


def test_tools_do_not_read_the_checks_of_the_run(worker: Worker):
    run = worker.directory.parent / "runs/one"
    run.parent.mkdir()
    worker.directory = worker.directory.rename(run)
    worker.context = msgspec.structs.replace(worker.context, directory=str(run))
    (run / "tasks.jsonl").write_text("forty-two")
    (run.parent / "link").symlink_to(run)
    calls = [
        {"tool": tool, "risk": "LOW", "arguments": arguments}
        for tool, arguments in (
            ("str_replace_editor", {"command": "view", "path": f"{run}/tasks.jsonl"}),
            ("str_replace_editor", {"command": "view", "path": f"{run.parent}/link/tasks.jsonl"}),
            ("str_replace_editor", {"command": "view", "path": str(run)}),
            ("grep", {"pattern": "forty", "path": str(run.parent)}),
            ("grep", {"pattern": "forty", "path": f"{run}/tasks.jsonl"}),
            ("glob", {"pattern": f"{run.parent}/link/*.jsonl"}),
            ("glob", {"pattern": "**/*.jsonl", "path": str(run.parent)}),
        )
    ]
    worker.model = worker.sandbox.script(*calls, FINISH)
    outcome = worker.run(mode="high")
    with Store.open(run / f"sessions/{outcome.session}.session", readonly=True) as store:
        results = [json.dumps(each.observation) for each in store.events() if isinstance(each, ActionObserved)]
    assert len(results) == len(calls), outcome
    assert all("hidden from you" in each and "forty-two" not in each for each in results), results


def test_worker_that_is_killed_before_it_has_stored_the_outcome_leaves_no_second_session(worker: Worker):
    first = worker.run()
    (outcome,) = worker.directory.glob("attempts/*/outcome.json")
    outcome.unlink()
    second = worker.run()
    assert second.session != first.session
    assert [each.stem for each in (worker.directory / "sessions").iterdir()] == [second.session]


def test_run_inside_the_directory_that_is_copied_is_left_out(worker: Worker):
    project = worker.directory.parent / "project"
    project.mkdir(exist_ok=True)
    (project / "a.py").write_text("one\n")
    inside = project / "run"
    worker.directory.rename(inside)
    worker.directory = inside
    worker.context = msgspec.structs.replace(worker.context, directory=str(inside))
    assert worker.run(workspace=str(project), check="test -f a.py && test ! -e run").solved


def test_rate_of_a_model_that_no_task_uses_is_refused(sandbox: Sandbox):
    tasks = write_tasks(sandbox, task(1))
    done = run_batch(sandbox, tasks, "-o", "run", "--model", "scripted/demo", "--rate", "typo=1/min")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--rate typo: no task is attempted with that model" in done.stderr


def test_run_whose_directory_is_deleted_says_so(sandbox: Sandbox, tmp_path: Path):
    model = sandbox.script(WRITE, FINISH)
    setup = f"rm -rf {sandbox.project}/run"
    done = run_batch(sandbox, write_tasks(sandbox, task(1, setup=setup), task(2)), "-o", "run", "--model", model)
    assert done.returncode == 1
    assert "is gone; what has ended since then is not stored" in done.stderr
    assert "solved" not in done.stdout


OTHER = "anthropic/claude-opus-4-5"


@pytest.mark.parametrize(
    ("user", "command", "attempt", "remaining"),
    [
        ({"model": "openai/gpt-5", "api_key_env": "CORP"}, "", "openai/gpt-5-mini", {"api_key_env": "CORP"}),
        ({"model": "openai/gpt-5", "api_key_env": "CORP", "api_base": "http://a/v1"}, OTHER, OTHER, {}),
        ({"model": "openai/gpt-5", "api_key": "k"}, "", OTHER, {}),
        ({"model": "openai/gpt-5", "api_key": "k"}, OTHER, OTHER, {"api_key": "k"}),
        ({"api_key": "k"}, "openai/gpt-5", OTHER, {}),
        ({"api_key": "k"}, "", OTHER, {"api_key": "k"}),
        ({"api_base": "http://a/v1", "from_flags": ("api_base",)}, "openai/gpt-5", OTHER, {}),
        ({"model": OTHER, "api_base": "http://a/v1", "from_flags": ("api_base",)}, "openai/a", "openai/b", None),
    ],
)
def test_key_and_url_for_one_provider_are_not_used_for_another(
    user: dict, command: str, attempt: str, remaining: dict | None
):
    settings = with_model(Settings(**user), attempt, command)
    assert settings.model == attempt
    names = ("api_key", "api_key_env", "api_base")
    expected = remaining if remaining is not None else {name: user[name] for name in names if name in user}
    assert {name: value for name in names if (value := getattr(settings, name))} == expected
