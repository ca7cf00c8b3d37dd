"""`ohw compare` shows what sessions did and cost side by side, and where they differ first."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.sandbox import Sandbox, bash, finish, wait_for
from workbench.errors import WorkbenchError
from workbench.llm.model import Cancel
from workbench.protocol.events import SessionStarted
from workbench.session.session_names import session_path
from workbench.session.storage.store import Store
from workbench.view.comparison import run_checks


def ran(sandbox: Sandbox, *commands: str) -> str:
    """Run an agent that runs these commands and ends; return the id of its session."""
    model = sandbox.script(*map(bash, commands), finish())
    done = sandbox.agent("run", "go", "--json", "--mode", "never", "--model", model)
    return str(json.loads(done.stdout.splitlines()[0])["id"])


def compared(sandbox: Sandbox, *names: str) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(sandbox.command("compare", *names, "--json").stdout)
    return result


def test_two_runs_of_one_prompt_side_by_side(sandbox: Sandbox):
    (sandbox.project / "a.txt").write_text("one\ntwo\n")
    first = ran(sandbox, "ls", "sed -i s/two/2/ a.txt")
    second = ran(sandbox, "ls", "echo three >> a.txt", "echo new > b.txt")
    done = sandbox.command("compare", first, second)
    rows = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines() if line.strip()}
    assert done.returncode == 0
    assert rows["outcome"] == ["done", "done"]
    assert rows["steps"] == ["3", "4"]
    assert rows["tool"] == ["calls", "3", "4"]
    assert rows["cost"] == ["$0.00", "$0.00"]
    assert rows["files"] == ["1", "+1", "−1", "2", "+2"]
    assert f"{first} and {second} first differ in" in done.stdout
    assert "answer: execute_bash: sed -i s/two/2/ a.txt" in done.stdout
    assert "answer: execute_bash: echo three >> a.txt" in done.stdout

    result = compared(sandbox, first, second)
    one, two = result["sessions"]
    assert [one["session"], two["session"]] == [first, second]
    assert [one["tool_calls"], two["tool_calls"]] == [3, 4]
    assert one["input_tokens"] > 0
    assert one["seconds"] > 0
    (pair,) = result["differences"]
    assert (pair["session"], pair["from"]) == (second, first)
    assert pair["first_step"]["from"]["title"] == "execute_bash: sed -i s/two/2/ a.txt"


def test_two_runs_that_do_the_same_have_no_difference(sandbox: Sandbox):
    first, second = ran(sandbox, "ls"), ran(sandbox, "ls")
    assert "has the same messages, answers and decisions" in sandbox.command("compare", first, second).stdout
    (pair,) = compared(sandbox, first, second)["differences"]
    assert (pair["first_step"], pair["files"]) == (None, [])


def test_fork_and_its_session_differ_from_the_fork_on(sandbox: Sandbox):
    session = ran(sandbox, "echo one > a.txt", "echo two > a.txt")
    checkpoint = sandbox.command("rewind", session).stdout.splitlines()[1].split()[0]
    fork = sandbox.command("fork", session, "--at", checkpoint).stdout.split()[0]
    done = sandbox.command("compare", session, fork)
    assert f"{session} and {fork} share {checkpoint} events; then" in done.stdout
    assert f"{session}: event" in done.stdout.split("then")[1]
    assert f"{fork}: nothing more" in done.stdout
    assert compared(sandbox, fork, session)["differences"][0]["first_step"]["forked_at"] == int(checkpoint)


def test_sessions_that_cannot_be_compared_are_named(sandbox: Sandbox):
    first, second = ran(sandbox, "ls"), ran(sandbox, "ls")
    done = sandbox.command("compare", first, "nothing")
    assert (done.returncode, done.stderr) == (2, "ohw: there is no session 'nothing'; `ohw sessions` lists them\n")
    assert f"the session {first} is named twice" in sandbox.command("compare", first, first).stderr
    assert "name two sessions or more" in sandbox.command("compare", first).stderr
    file = sandbox.locations.sessions / f"{second}.session"
    file.write_bytes(file.read_bytes()[:5000])
    done = sandbox.command("compare", first, second)
    assert f"`ohw sessions repair {second}`" in done.stderr
    assert done.returncode == 2


def test_fork_whose_parent_file_is_gone_is_named(sandbox: Sandbox):
    session = ran(sandbox, "ls")
    fork = sandbox.command("fork", session).stdout.split()[0]
    other = ran(sandbox, "ls")
    (sandbox.locations.sessions / f"{session}.session").unlink()
    done = sandbox.command("compare", fork, other)
    assert done.returncode == 2
    assert f"of {fork} are in the session {session}, which was deleted or replaced" in done.stderr


def forked_and_run_on(sandbox: Sandbox) -> tuple[str, str]:
    """Run a session, fork it into a worktree after its first command, and let the session's second one count alone."""
    (sandbox.project / "a.txt").write_text("one\ntwo\n")
    session = ran(sandbox, "sed -i s/two/2/ a.txt", "rm a.txt; echo new > b.txt")
    checkpoint = sandbox.command("rewind", session).stdout.splitlines()[1].split()[0]
    return session, sandbox.command("fork", session, "--at", checkpoint, "--worktree").stdout.split()[0]


def test_links_and_binary_files_count_as_changed(sandbox: Sandbox):
    session = ran(sandbox, "ln -s a.txt link; head -c 100 /dev/urandom > data.bin; echo one > a.txt", "rm -f none")
    other = ran(sandbox, "true")
    figures = compared(sandbox, session, other)["sessions"][0]
    assert (figures["files"], figures["lines_added"]) == (3, 1)


def test_files_that_two_futures_end_with_are_compared(sandbox: Sandbox):
    session, fork = forked_and_run_on(sandbox)
    printed = sandbox.command("compare", session, fork).stdout
    assert f"The files of {fork} differ in\n    A a.txt  +2\n    D b.txt  −1" in printed
    assert compared(sandbox, fork, session)["differences"][0]["files"] == [
        {"path": "a.txt", "change": "D", "added": 0, "removed": 2, "note": ""},
        {"path": "b.txt", "change": "A", "added": 1, "removed": 0, "note": ""},
    ]


def test_check_runs_on_the_final_files_of_each_session_and_changes_nothing(sandbox: Sandbox):
    session, fork = forked_and_run_on(sandbox)
    outside = sandbox.home / "outside"
    check = f"echo looking at the files; touch extra; echo > {outside}; test -e b.txt"
    done = sandbox.command("compare", session, fork, "--check", check)
    assert done.returncode == 1
    assert "passed in" in done.stdout
    assert "failed (exit 1) in" in done.stdout
    assert f"The check of {fork} ended with\n  looking at the files" in done.stdout
    assert not outside.exists()
    assert {path.name for path in sandbox.project.iterdir()} == {"b.txt"}
    assert sandbox.command("compare", session, fork, "--check", "true").returncode == 0
    assert "--check is empty" in sandbox.command("compare", session, fork, "--check", "").stderr
    silent = sandbox.command("compare", session, fork, "--check", "exit 3").stdout.splitlines()
    assert silent[-1] == f"The check of {fork} ended without output"
    checks = json.loads(sandbox.command("compare", session, fork, "--check", "exit 3", "--json").stdout)
    assert [each["check"]["code"] for each in checks["sessions"]] == [3, 3]


def test_snapshots_that_are_gone_are_named_and_the_figures_remain(sandbox: Sandbox):
    session, fork = forked_and_run_on(sandbox)
    shutil.rmtree(sandbox.locations.data / "versions")
    done = sandbox.command("compare", session, fork, "--check", "true")
    assert done.returncode == 1
    assert "outcome" in done.stdout
    assert f"cannot be compared: the last snapshot of the session {session}" in done.stdout
    assert "was pruned or deleted" in done.stdout
    assert f"The check of {fork} was not run" in done.stdout


def test_lost_content_of_a_file_is_named(sandbox: Sandbox):
    session, fork = forked_and_run_on(sandbox)
    blob = hashlib.sha1(b"blob 4\0new\n").hexdigest()
    for path in (sandbox.locations.data / "versions").glob(f"*/objects/{blob[:2]}/{blob[2:]}"):
        path.unlink()
    done = sandbox.command("compare", session, fork)
    assert done.returncode == 0
    assert "cannot be compared: the content of b.txt in one of the snapshots is gone" in done.stdout


def test_session_that_never_ran_has_no_files_to_compare(sandbox: Sandbox):
    first = ran(sandbox, "ls")
    idle = "20260101-idle"
    with Store.create(session_path(sandbox.locations, idle)) as store:
        store.append(SessionStarted(id=idle, workspace=str(sandbox.project), model="scripted/x", mode="medium"))
    assert f"the session {idle} has no snapshots" in sandbox.command("compare", first, idle).stdout


def test_check_that_is_cancelled_ends_and_leaves_nothing_behind(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch):
    session, fork = forked_and_run_on(sandbox)
    scratch = sandbox.home / "scratch"
    scratch.mkdir()
    for name, value in {**sandbox.env, "TMPDIR": str(scratch)}.items():
        monkeypatch.setenv(name, value)
    cancel, problems = Cancel(), []

    def check() -> None:
        with pytest.raises(WorkbenchError) as raised:
            run_checks((session, fork), "echo $$ > started; sleep 1000", cancel)
        problems.append(str(raised.value))

    thread = Thread(target=check)
    thread.start()

    def started() -> list[Path]:  # directories appear and go meanwhile, which `os.walk` passes over
        paths = [Path(at, "started") for at, _, files in os.walk(scratch) if "started" in files]
        return [path for path in paths if path.read_text()]

    (file,) = wait_for(started, "the check runs")
    process = int(file.read_text())
    cancel.set()
    thread.join(30)
    assert problems
    assert not list(scratch.iterdir())
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
