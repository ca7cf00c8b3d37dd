"""One attempt on a worker: its workspace, setup, session, check and patch, and a clear ending for each that fails."""

from __future__ import annotations

import errno
import os
import subprocess
import tarfile
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.batch.runs import FINISH, WRITE
from tests.fakes.full_disk import room_for
from tests.fakes.model_server import ModelServer
from tests.fakes.model_turns import Fault
from tests.fakes.otlp_server import OtlpServer
from tests.sandbox import Sandbox, wait_for
from workbench.batch.answer_wait import AnswerWait
from workbench.batch.attempt import AttemptOutcome, TaskAttempt
from workbench.batch.attempt_files import Report, RunContext
from workbench.batch.attempt_session import AttemptRun
from workbench.batch.task import TaskSpec
from workbench.batch.worker import end_attempts, run_attempt
from workbench.config.settings import load_settings
from workbench.llm.model import Cancel
from workbench.session.session_factory import start_session
from workbench.session.session_names import new_id

ASK = {"tool": "execute_bash", "risk": "HIGH", "arguments": {"command": "rm -rf /tmp/elsewhere"}}


class Worker:
    """A worker in this process, and the directory of a run beside it."""

    def __init__(self, sandbox: Sandbox, directory: Path) -> None:
        self.sandbox, self.directory = sandbox, directory
        self.context = RunContext("nonce", str(directory), client=str(directory))
        (directory / "run.json").write_text('{"nonce": "nonce"}')
        self.model = sandbox.script(WRITE, FINISH)

    def run(self, **fields: Any) -> AttemptOutcome:
        spec = TaskSpec(**{"id": "t", "prompt": "Make the file.", "mode": "edits", **fields})
        attempt = TaskAttempt(spec, spec.model or self.model, 1)
        report = run_attempt(msgspec.json.encode(attempt), msgspec.json.encode(self.context))
        return msgspec.json.decode(report, type=Report).outcome

    def file(self, name: str) -> str:
        (path,) = self.directory.glob(f"attempts/*/{name}")
        return path.read_text()


@pytest.fixture
def worker(local_sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Worker:
    monkeypatch.setenv("OHW_SCRIPT_PACE", "0")
    directory = tmp_path / "run"
    directory.mkdir()
    return Worker(local_sandbox, directory)


def git(directory: Path, *words: str) -> str:
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
    command = ["git", *identity, *words]
    return subprocess.run(command, cwd=directory, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with two commits, a change that is not committed, and a file that is new."""
    path = tmp_path / "shop"
    path.mkdir()
    git(path, "init", "-q")
    (path / "a.py").write_text("one\n")
    git(path, "add", ".")
    git(path, "commit", "-qm", "one")
    (path / "a.py").write_text("two\n")
    (path / "gone.py").write_text("gone\n")
    git(path, "add", ".")
    git(path, "commit", "-qm", "two")
    (path / "a.py").write_text("three\n")
    (path / "gone.py").unlink()
    (path / "new.py").write_text("new\n")
    os.mkfifo(path / "pipe")
    return path


def test_sessions_of_tasks_with_similar_ids_never_have_the_same_id(worker: Worker, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("secrets.token_hex", lambda length: "f" * 2 * length)
    ids = [f"move-the-payment-service-to-python-{number}" for number in (1, 2)]
    names = {worker.run(id=each).session for each in ids}
    assert names == {path.stem for path in (worker.directory / "sessions").iterdir()}
    assert len(names) == 2


LIST = "cat a.py; ls -x; git log --oneline --format=%s | head -1"


def test_directory_is_copied_as_it_is(worker: Worker, repository: Path):
    outcome = worker.run(workspace=str(repository), check=LIST)
    assert outcome.solved
    assert worker.file("check.log").split("\n", 1)[1].split() == ["three", "a.py", "made.txt", "new.py", "two"]
    assert worker.file("changes.patch").count("diff --git") == 1
    assert not (repository / "made.txt").exists()
    assert outcome.patch_lines == 1


def test_worktree_is_copied_with_a_repository_of_its_own(worker: Worker, repository: Path, tmp_path: Path):
    git(repository, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    (tmp_path / "side" / "a.py").write_text("side\n")
    (tmp_path / "side" / "gone.py").unlink()
    check = f"{LIST}; git commit -qam x --author 'A <a@example.org>' || true; git status --short"
    outcome = worker.run(workspace=str(tmp_path / "side"), check=check)
    assert outcome.ending == "finished"
    assert worker.file("check.log").split("\n", 1)[1].split()[:4] == ["side", "a.py", "made.txt", "two"]
    assert git(tmp_path / "side", "log", "--format=%s", "-1") == "two"


@pytest.mark.parametrize("revision", ["HEAD~1", "commit"])
def test_revision_of_a_repository_is_checked_out(worker: Worker, repository: Path, revision: str):
    commit = git(repository, "rev-parse", "HEAD~1") if revision == "commit" else revision
    outcome = worker.run(workspace=repository.as_uri(), revision=commit, check=LIST)
    assert outcome.solved
    assert worker.file("check.log").split("\n", 1)[1].split() == ["one", "a.py", "made.txt", "one"]


def test_commit_that_is_on_no_branch_is_fetched(worker: Worker, repository: Path):
    commit = git(repository, "stash", "create")
    git(repository, "update-ref", "refs/pull/1/head", commit)
    git(repository, "config", "uploadpack.allowAnySHA1InWant", "true")
    assert worker.run(workspace=repository.as_uri(), revision=commit, check=LIST).solved
    assert "three" in worker.file("check.log")


def test_archive_is_unpacked_and_cannot_write_outside(worker: Worker, tmp_path: Path):
    (tmp_path / "a.py").write_text("packed\n")
    with tarfile.open(tmp_path / "good.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "a.py", "a.py")
    assert worker.run(workspace=str(tmp_path / "good.tar.gz"), check="cat a.py").solved
    assert "packed" in worker.file("check.log")
    with tarfile.open(tmp_path / "bad.tar", "w") as archive:
        archive.add(tmp_path / "a.py", "../escaped.py")
    outcome = worker.run(id="bad", workspace=str(tmp_path / "bad.tar"))
    assert (outcome.ending, outcome.session) == ("workspace", "")
    assert "cannot be copied" in outcome.detail
    assert not list(tmp_path.rglob("escaped.py"))


@pytest.mark.parametrize(
    ("workspace", "revision", "expected"),
    [
        ("file:///nowhere/at/all", "", "file:///nowhere/at/all cannot be cloned: "),
        ("ext::sh -c touch% pwned", "main", "cannot be cloned: "),
        ("/nowhere", "", "there is no /nowhere on this worker"),
    ],
)
def test_workspace_that_cannot_be_made_says_why(worker: Worker, workspace: str, revision: str, expected: str):
    outcome = worker.run(workspace=workspace, revision=revision)
    assert (outcome.ending, outcome.steps) == ("workspace", 0)
    assert expected in outcome.detail


def test_setup_that_fails_ends_the_attempt_before_its_session(worker: Worker):
    outcome = worker.run(setup="echo broken >&2; exit 7")
    assert (outcome.ending, outcome.detail, outcome.session) == ("setup", "exit code 7", "")
    assert "broken" in worker.file("setup.log")


def test_setup_that_hangs_is_ended_with_what_it_started(worker: Worker):
    began = time.monotonic()
    outcome = worker.run(setup="sleep 977 & sleep 978", minutes=0.01)
    assert (outcome.ending, outcome.detail) == ("setup", "it was ended after its timeout of 0.6 s")
    assert time.monotonic() - began < 20
    assert not [each for each in worker.sandbox.processes() if "97" in " ".join(each.cmdline())]


def test_what_setup_changes_is_not_in_the_patch(worker: Worker):
    outcome = worker.run(setup="echo x > installed.txt", check="test -f installed.txt")
    assert outcome.solved
    assert "installed" not in worker.file("changes.patch")


def test_check_decides_whether_a_task_is_solved(worker: Worker):
    outcome = worker.run(check="exit 3")
    assert (outcome.state, outcome.ending, outcome.check_status) == ("unsolved", "finished", 3)
    assert outcome.detail == "check: exit code 3"
    assert worker.run(id="none").state == "done"


def test_question_stops_the_attempt_and_is_recorded(worker: Worker):
    worker.model = worker.sandbox.script(ASK)
    outcome = worker.run(mode="high")
    assert (outcome.ending, outcome.state) == ("question", "question")
    assert outcome.detail.startswith("HIGH: ")


def test_agent_is_ended_at_its_time_limit_and_still_checked(worker: Worker):
    worker.model = worker.sandbox.script(
        WRITE, {"tool": "execute_bash", "risk": "LOW", "arguments": {"command": "sleep 60"}}, FINISH
    )
    outcome = worker.run(mode="high", minutes=0.04, check="test -f made.txt")
    assert (outcome.ending, outcome.detail, outcome.solved) == ("limit", "the time limit is reached", True)
    assert outcome.seconds < 20


def test_model_that_is_down_is_an_error_of_this_attempt(worker: Worker):
    with ModelServer([Fault(401, "no such key")]) as server:
        flags = {"api_base": server.base_url}
        worker.context = msgspec.structs.replace(worker.context, flags=flags)
        outcome = worker.run(model="openai/x")
    assert (outcome.ending, outcome.solved) == ("error", None)
    assert "key" in outcome.detail


def full(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/data")


def test_full_disk_of_a_worker_is_named_and_the_attempt_runs_again(worker: Worker):
    for size in (0, 30_000):  # the workspace cannot be made, or the session not be written
        with room_for(size):
            assert (outcome := worker.run()).ending == "worker"
        assert outcome.detail.startswith("the worker failed: File too large (/")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("workbench.batch.worker.archive_needed", full)
        assert worker.run().detail == "the worker failed: the disk is full; free some space (/data)"
    assert worker.run().ending == "finished"


def test_attempt_that_needs_more_space_than_there_is_fails_by_itself(worker: Worker, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("workbench.batch.disk_space.LEAST_SPACE", 1_000)
    with room_for(30_000):
        assert (outcome := worker.run()).ending == "error"
    assert "the disk failed, is full or read-only" in outcome.detail


def test_model_that_does_not_exist_is_an_error_of_this_attempt(worker: Worker):
    outcome = worker.run(model="scripted/nowhere.toml")
    assert outcome.ending == "error"
    assert "nowhere.toml" in outcome.detail


def test_interrupted_run_starts_no_attempt_and_ends_those_that_run(worker: Worker):
    outcomes: list[AttemptOutcome] = []
    thread = threading.Thread(target=lambda: outcomes.append(worker.run(setup="sleep 60")))
    thread.start()
    wait_for(lambda: any("sleep" in " ".join(each.cmdline()) for each in worker.sandbox.processes()), "the setup")
    end_attempts(worker.context.client)
    thread.join(20)
    assert [each.ending for each in outcomes] == ["interrupted"]
    assert worker.run(id="later").ending == "interrupted"


def test_ended_attempt_whose_client_was_lost_does_not_run_again(worker: Worker):
    first = worker.run()
    worker.model = worker.sandbox.script(FINISH)
    assert worker.run() == first


def test_interrupt_before_the_session_has_its_prompt_ends_the_run(local_sandbox: Sandbox):
    locations = local_sandbox.locations
    settings = load_settings(locations, model=local_sandbox.script(WRITE, FINISH), mode="high")
    opened = start_session(
        locations, settings, local_sandbox.project, new_id("t"), on_event=lambda event: None, on_live=lambda event: None
    )
    with closing(opened):
        cancel = Cancel()
        cancel.set()
        run = AttemptRun(opened, cancel, AnswerWait(0, lambda question: None))
        assert run.drive("Make the file.", 0) == ("interrupted", "")
    assert not (local_sandbox.project / "made.txt").exists()


def test_all_spans_of_an_attempt_name_its_run_task_model_and_number(worker: Worker):
    settings = worker.sandbox.locations.settings_file
    settings.parent.mkdir(parents=True)
    with OtlpServer() as server:
        settings.write_text(f'[telemetry]\nenabled = true\nendpoint = "{server.url}"\n')
        assert worker.run().state == "done"
    labels = {
        "ohw.batch.run": "run",
        "ohw.batch.run.id": "nonce",
        "ohw.batch.task": "t",
        "ohw.batch.model": worker.model,
        "ohw.batch.attempt": 1,
    }
    assert {each.name.partition(" ")[0] for each in server.spans} == {"invoke_agent", "step", "chat", "execute_tool"}
    assert all(labels.items() <= each.attributes.items() for each in server.spans)
