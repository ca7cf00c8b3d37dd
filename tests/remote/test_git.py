"""`/commit` and `/pr` in a session on another machine: the git there is asked, and what they propose runs there."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

from tests.remote.far_machine import FarMachine
from tests.remote.screens import answer, send, started
from tests.sandbox import bash, finish


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
        terminal.wait_for("gh pr create")
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
