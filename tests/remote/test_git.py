"""`/commit`, `/pr` and `/worktree` in a session on another machine: the git there is asked, and all happens there."""

from __future__ import annotations

import shlex
import subprocess
import time
from pathlib import Path

import pytest

from tests.remote.far_machine import FarMachine
from tests.remote.screens import answer, send, started
from tests.sandbox import bash, finish
from tests.terminal.terminal import Terminal
from workbench.client.ssh_url import SshUrl
from workbench.session.storage.session_list import list_sessions
from workbench.view.approval.quiet_time import QUIET
from workbench.view.workspace_requests import RemoteWorktrees, read_files_there


def git(directory: Path, *words: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.invalid", "-c", "init.defaultBranch=main")
    return subprocess.run(["git", *who, *words], cwd=directory, check=True, capture_output=True, text=True).stdout


def repository_there(far: FarMachine) -> Path:
    """Create a repository with a commit in the project there; the one here has none."""
    project = far.user.project
    (project / "a.txt").write_text("one\n")
    git(project, "init", "-q")
    git(project, "config", "user.name", "a")
    git(project, "config", "user.email", "a@example.invalid")
    git(project, "add", "a.txt")
    git(project, "commit", "-q", "-m", "first")
    return project


def test_a_commit_is_proposed_by_the_git_there_and_made_there(far: FarMachine):
    project = repository_there(far)
    (project / "other.txt").write_text("not of the session\n")
    with started(far, far.user.script(bash("echo two > a.txt"), finish("All done."))) as terminal:
        send(terminal, "Write two")
        answer(terminal)
        terminal.wait_for("✓ Finished")
        send(terminal, "/commit")
        terminal.wait_for("-- ./a.txt")
        terminal.press("enter")
        terminal.wait_until(lambda _: "Write two" in git(project, "log"), "the commit")
        assert git(project, "show", "--format=%s", "--name-only").split() == ["Write", "two", "a.txt"]
        assert "?? other.txt" in git(project, "status", "--porcelain")
        send(terminal, "/commit")
        terminal.wait_for("This session has no uncommitted changes")


def test_exactly_what_is_staged_there_is_proposed(far: FarMachine):
    project = repository_there(far)
    (project / "staged.txt").write_text("staged\n")
    git(project, "add", "staged.txt")
    with started(far, far.user.script(bash("echo two > a.txt"), finish("All done."))) as terminal:
        send(terminal, "Write two")
        answer(terminal)
        terminal.wait_for("✓ Finished")
        send(terminal, "/commit")
        assert " add -A" not in terminal.wait_for("This commits exactly what is staged, in 1 file")


def test_a_branch_is_pushed_and_its_request_opened_by_the_programs_there(far: FarMachine, tmp_path: Path):
    project, bare = repository_there(far), tmp_path / "bare.git"
    git(tmp_path, "clone", "-q", "--bare", str(project), str(bare))
    git(project, "remote", "add", "origin", str(bare))
    git(project, "switch", "-q", "-c", "topic")
    git(project, "commit", "-q", "--allow-empty", "-m", "second")
    arguments = tmp_path / "arguments"
    far.add("gh", f'for each in "$@"; do printf "%s\\n" "$each"; done > {shlex.quote(str(arguments))}')
    with started(far, far.user.script(finish("All done."))) as terminal:
        send(terminal, "Second")
        terminal.wait_for("✓ Finished")
        send(terminal, "/pr")
        terminal.wait_until(lambda screen: "gh pr create" in in_one_line(screen), "the proposal")
        terminal.press("enter")
        terminal.wait_until(lambda _: arguments.exists() and "--body" in arguments.read_text(), "the pull request")
    assert git(bare, "rev-parse", "topic") == git(project, "rev-parse", "topic")
    assert arguments.read_text().splitlines()[:4] == ["pr", "create", "--head", "topic"]


def test_what_makes_a_request_impossible_there_is_said(far: FarMachine):
    repository_there(far)
    git(far.user.project, "switch", "-q", "--detach")
    with started(far, far.user.script(finish("All done."))) as terminal:
        send(terminal, "Second")
        terminal.wait_for("✓ Finished")
        send(terminal, "/pr")
        assert "git push" not in terminal.wait_for("/pr needs a branch, and none is checked out")


def in_one_line(screen: str) -> str:
    """Return the words of a screen, whose lines are wrapped."""
    return " ".join(screen.replace("│", " ").replace("▌", " ").split())


def accept(terminal: Terminal, effect: str) -> None:
    """Accept the risk of a change that is applied, once the question shows its effect."""
    terminal.wait_for(effect)
    terminal.wait_for("y Apply")
    time.sleep(QUIET + 0.2)
    terminal.press("y")


def ran_once(far: FarMachine) -> Terminal:
    """Start a session there whose only run has ended."""
    terminal = started(far, far.user.script(finish("All done.")))
    send(terminal, "Second")
    terminal.wait_for("✓ Finished")
    return terminal


def test_a_worktree_is_created_there_with_a_session_there(far: FarMachine):
    project = repository_there(far)
    (project / "a.txt").write_text("not committed\n")
    with ran_once(far) as terminal:
        send(terminal, "/worktree fix")
        notice = "on far, on the branch fix; 1 file with uncommitted changes stayed in the other directory"
        terminal.wait_until(lambda screen: notice in in_one_line(screen), "the notice")
        directory = project.with_name(f"{project.name}-fix")
        assert (directory / "a.txt").read_text() == "one\n"
        send(terminal, "!pwd > where.txt")
        terminal.wait_until(lambda _: (directory / "where.txt").exists(), "the user's command in the worktree")
        assert (directory / "where.txt").read_text().strip() == str(directory)
        sessions = list_sessions(far.user.locations)
        assert {each.workspace for each in sessions} == {str(project), str(directory)}
        assert {each.id for each in list_sessions(far.near.locations)} == {each.id for each in sessions}


def test_a_worktree_there_is_listed_merged_and_removed(far: FarMachine):
    project = repository_there(far)
    directory = project.with_name("beside")
    git(project, "worktree", "add", "-q", "-b", "fix", str(directory))
    (directory / "a.txt").write_text("one\ntwo\n")
    (directory / "new.txt").write_text("new\n")
    with ran_once(far) as terminal:
        send(terminal, "/worktree")
        terminal.wait_for("2 changed")
        terminal.press("down", "m")
        terminal.wait_for("fix into this workspace")
        terminal.wait_for("x Apply")
        terminal.press("X")
        accept(terminal, "MEDIUM  +1")
        terminal.wait_until(lambda _: (project / "a.txt").read_text() == "one\ntwo\n", "one file")
        terminal.wait_for("new.txt")
        terminal.press("R")
        accept(terminal, "creates the file")
        terminal.wait_until(lambda _: (project / "new.txt").exists(), "all files")
        assert git(project, "log", "--oneline").count("\n") == 1, "nothing is committed"
        terminal.press("escape")
        terminal.wait_for("beside")
        terminal.press("d")
        terminal.wait_for("The uncommitted changes will be lost. Press d again")
        time.sleep(QUIET + 0.2)
        terminal.press("d")
        terminal.wait_for("Removed")
        assert not directory.exists()
        assert git(project, "branch", "--list", "fix").strip() == "fix"


def test_the_session_of_a_worktree_there_is_resumed(far: FarMachine):
    project = repository_there(far)
    with ran_once(far) as terminal:
        (first,) = list_sessions(far.user.locations)
        send(terminal, "/worktree fix")
        terminal.wait_until(lambda screen: "on the branch fix" in in_one_line(screen), "the notice")
        send(terminal, "/worktree")
        terminal.wait_for("Enter Open")
        terminal.wait_for(first.title)
        terminal.press("home", "enter")
        terminal.wait_for("✓ Finished")
    assert {each.workspace for each in list_sessions(far.user.locations)} >= {str(project)}


def test_what_makes_a_worktree_impossible_there_is_said(far: FarMachine):
    with ran_once(far) as terminal:
        send(terminal, "/worktree fix")
        terminal.wait_for("git cannot show a repository here")
        assert len(list_sessions(far.user.locations)) == 1


def test_a_merge_does_not_read_the_files_of_this_machine(far: FarMachine, monkeypatch: pytest.MonkeyPatch):
    """The directory there may have a namesake here, with other files."""
    project = repository_there(far)
    (project / "a.txt").write_text("\n".join("abcdefgh") + "\n")
    git(project, "commit", "-q", "-a", "-m", "second")
    directory = project.with_name("beside")
    git(project, "worktree", "add", "-q", "-b", "fix", str(directory))
    (directory / "a.txt").write_text("\n".join("Abcdefgh") + "\n")
    (project / "a.txt").write_text("\n".join("abcdefgH") + "\n")
    url = SshUrl.parse(far.url)
    monkeypatch.setenv("PATH", far.near.env["PATH"])
    worktrees = RemoteWorktrees(url)
    (fix,) = [each for each in worktrees.all() if each.branch == "fix"]
    (file,) = worktrees.merge_scope(fix).files()
    assert file.after == "\n".join("AbcdefgH") + "\n"
    (now, absent) = read_files_there(url, [str(project / "a.txt"), str(project / "none\udce9")], None)
    assert now.text == "\n".join("abcdefgH") + "\n"
    assert (absent.text, absent.problem) == (None, "")
