"""`/pr` proposes a command that pushes the branch and opens a pull request; the user edits and sends it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.blame_files import keep_blamed
from tests.tui.fake_client import FakeClient
from tests.tui.sample_session import Script
from tests.tui.test_commit import ACTIONS, SUBJECT, git
from workbench.errors import WorkbenchError
from workbench.tui.widgets.prompt import Prompt
from workbench.view.pull_request import CheckedOutBranch, checked_out, pull_request_command
from workbench.view.state import SessionState


@pytest.fixture
def script(directory, monkeypatch, tmp_path) -> Script:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return keep_blamed(directory)


@pytest.fixture
def remote(script, directory, tmp_path) -> Path:
    """A bare repository that has the workspace's first commit as its default branch."""
    bare = tmp_path / "remote.git"
    git(directory, "commit", "-q", "--allow-empty", "-m", "first")
    git(tmp_path, "clone", "-q", "--bare", str(directory), str(bare))
    git(directory, "remote", "add", "origin", str(bare))
    git(directory, "fetch", "-q", "origin")
    branch = git(directory, "rev-parse", "--abbrev-ref", "HEAD").strip()
    git(directory, "symbolic-ref", "refs/remotes/origin/HEAD", f"refs/remotes/origin/{branch}")
    return bare


def program(directory: Path, name: str) -> Path:
    """Create a program that writes down its arguments, one each line."""
    path = directory / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f'#!/bin/sh\nfor each in "$@"; do printf "[%s]\\n" "$each"; done > {directory}/arguments\n')
    path.chmod(0o755)
    return path


@pytest.mark.starts
@pytest.mark.parametrize(
    ("name", "words"),
    [("gh", ("pr", "create", "--head", "--base", "--title", "--body")), ("glab", ("mr", "create", "--target-branch"))],
)
async def test_branch_is_pushed_and_the_request_opened_by_the_command_in_the_prompt(
    name, words, script, directory, remote, tmp_path, monkeypatch
):
    base = git(directory, "rev-parse", "--abbrev-ref", "HEAD").strip()
    git(directory, "add", "-A")
    git(directory, "commit", "-q", "-m", "change")
    program(tmp_path / "bin", name)
    client = FakeClient(script.events)
    app = workbench_app(client, directory=directory)
    with monkeypatch.context() as patch:
        patch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
        async with app.run_test(size=(120, 40)) as pilot:
            await wait_until(pilot, lambda: app.state.session_id == "s1" and app.state.changes)
            await pilot.press(*"/pr", "enter")
            prompt = app.screen.query_one(Prompt)
            await wait_until(pilot, lambda: prompt.text.startswith("!!cd "))
            assert client.commands == [], "nothing runs before the user sends it"
            line = prompt.text.removeprefix("!!")
        subprocess.run(["sh", "-c", line], cwd="/", check=True, capture_output=True)
    arguments = (tmp_path / "bin/arguments").read_text()
    assert git(remote, "log", "-1", "--format=%s", "ohw/s1").strip() == "change"
    assert all(f"[{word}]\n" in arguments for word in (*words, base, "ohw/s1", SUBJECT))
    assert ACTIONS in arguments


@pytest.mark.starts
def test_rejected_push_opens_no_request_and_changes_nothing(script, directory, remote, tmp_path):
    theirs = tmp_path / "theirs"
    git(tmp_path, "clone", "-q", str(remote), str(theirs))
    git(theirs, "switch", "-q", "-c", "ohw/s1")
    git(theirs, "commit", "-q", "--allow-empty", "-m", "theirs")
    git(theirs, "push", "-q", "origin", "ohw/s1")
    git(directory, "switch", "-q", "-c", "ohw/s1")
    git(directory, "add", "-A")
    git(directory, "commit", "-q", "-m", "ours")
    program(tmp_path / "bin", "gh")
    state = SessionState(workspace=str(directory), session_id="s1")
    line = pull_request_command(state, checked_out(directory), "gh", has_trailers=False).removeprefix("!!")
    env = {"PATH": f"{tmp_path}/bin:/usr/bin:/bin", "HOME": str(tmp_path)}
    done = subprocess.run(["sh", "-c", line], cwd="/", env=env, capture_output=True, text=True)
    assert done.returncode != 0
    assert "[rejected]" in done.stderr
    assert not (tmp_path / "bin/arguments").exists()
    assert git(remote, "log", "-1", "--format=%s", "ohw/s1").strip() == "theirs"
    assert git(directory, "log", "-1", "--format=%s").strip() == "ours"


@pytest.mark.starts
def test_a_branch_without_new_commits_or_no_branch_is_said(directory, remote, tmp_path):
    with pytest.raises(WorkbenchError, match="/commit makes one"):
        checked_out(directory)
    git(directory, "switch", "-q", "--detach")
    with pytest.raises(WorkbenchError, match="none is checked out"):
        checked_out(directory)
    (tmp_path / "plain").mkdir()
    with pytest.raises(WorkbenchError, match="needs a git repository"):
        checked_out(tmp_path / "plain")


def test_a_branch_of_the_users_is_kept_and_without_a_program_only_pushed():
    state = SessionState(workspace="/home/me/it's", session_id="s1")
    line = pull_request_command(state, CheckedOutBranch("fix;rm", "main"), "", has_trailers=False)
    assert line == """!!cd '/home/me/it'"'"'s' && git push -u origin 'fix;rm'"""
