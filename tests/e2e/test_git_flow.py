"""The real program: a session in its own worktree, one of its hunks applied here, staged and committed."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.sandbox import Sandbox, bash, finish
from tests.terminal.terminal import Terminal

LINES = "".join(f"line {number}\n" for number in range(40))


def git(directory: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=directory, check=True, capture_output=True, text=True).stdout


def send(terminal: Terminal, line: str) -> None:
    terminal.type(line)
    terminal.wait_for(line)
    terminal.press("enter")


def test_work_in_a_worktree_is_merged_back_by_hunk_staged_and_committed(sandbox: Sandbox):
    project, worktree = sandbox.project, sandbox.project.with_name(f"{sandbox.project.name}-fix")
    (project / "a.txt").write_text(LINES)
    git(project, "init", "-qb", "main")
    for name, value in (("user.name", "a"), ("user.email", "a@b.c")):
        git(project, "config", name, value)
    git(project, "add", "-A")
    git(project, "commit", "-qm", "first")
    model = sandbox.script(bash("sed -i 's/^line.5$/FIVE/; s/^line.35$/LATER/' a.txt"), finish("Both done."))
    with Terminal(["--model", model, "--workspace", str(project)], 120, 36, sandbox.env) as terminal:
        terminal.wait_for("What should we work on?")
        send(terminal, "/worktree fix")
        terminal.wait_for("project-fix  fix")  # its directory and branch, in the first line
        send(terminal, "edit there")
        terminal.wait_for("y Approve")
        terminal.press("y")
        terminal.wait_for("Both done.")
        assert "FIVE" in (worktree / "a.txt").read_text()
        assert (project / "a.txt").read_text() == LINES

        send(terminal, "/worktree")
        assert "edit there" in terminal.wait_for("● fix ")
        terminal.press("home", "enter")
        terminal.wait_for("What should we work on?")
        send(terminal, "/worktree")
        terminal.wait_for("● main ")
        terminal.press("end", "m")
        terminal.wait_for("x Apply")
        terminal.press("x")
        terminal.wait_for("Apply hunk 1 of a.txt from worktree fix?")
        terminal.wait_for("y Apply")
        terminal.press("y")
        terminal.wait_for("Applied hunk 1 of a.txt")
        assert (project / "a.txt").read_text() == LINES.replace("line 5\n", "FIVE\n")

        terminal.press("escape", "escape", "f5")
        terminal.wait_for("Esc Close")
        terminal.press("a")
        terminal.wait_for("a Stage")
        terminal.wait_for("FIVE")
        terminal.press("a")
        terminal.wait_for("Staged a.txt")
        terminal.press("C")
        terminal.wait_for("git -C")
        terminal.press("enter")
        terminal.wait_for("1 file changed")
    assert git(project, "show", "--format=", "--name-only").split() == ["a.txt"]
    assert git(project, "show", "HEAD:a.txt") == LINES.replace("line 5\n", "FIVE\n")
    assert git(project, "status", "--porcelain", "--untracked-files=no") == ""
