"""`ohw fork` in the real program: both sessions continue, and the fork outlives its parent."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.e2e.test_rewind import files, ran
from tests.e2e.test_rewind_screen import preview_the_second_message, run_both, started
from tests.sandbox import Sandbox
from workbench.files.git import run_git
from workbench.session.session_names import session_path
from workbench.session.storage.session_list import delete
from workbench.session.storage.store import Store


def test_fork_continues_and_returns_into_the_shared_history(sandbox: Sandbox):
    session = ran(sandbox)
    later = files(sandbox)
    listed = [line.split()[0] for line in sandbox.command("rewind", session).stdout.splitlines()]
    assert "event 3 is no checkpoint" in sandbox.command("fork", session, "--at", "3").stderr
    assert "no event 999" in sandbox.command("fork", session, "--at", "999").stderr
    assert "Forked before the message: go" in sandbox.command("fork", "--last", listed[0]).stdout
    assert "not both" in sandbox.command("fork", session, listed[0], "--at", listed[0]).stderr
    done = sandbox.ohw("fork", session)
    fork = done.stdout.split()[0]
    assert f"ohw resume {fork}" in done.stdout, done.stderr
    assert [line.split()[0] for line in sandbox.command("rewind", fork).stdout.splitlines()] == listed

    done = sandbox.command("rewind", fork, listed[1], "--yes")
    assert "create  old.txt" in done.stdout, done.stderr
    assert files(sandbox) == {"a.txt": "mine\none\n", "old.txt": "old\n"}
    sandbox.command("rewind", fork, "--redo", "--yes")
    assert files(sandbox) == later

    delete(sandbox.locations, session)
    exported = [json.loads(line) for line in sandbox.command("export", fork, "--jsonl").stdout.splitlines()]
    assert [event["seq"] for event in exported] == list(range(1, len(exported) + 1))
    assert exported[0]["id"] == fork
    assert "forked" in [event["kind"] for event in exported]


def test_new_session_from_the_preview_has_the_message_in_its_prompt(sandbox: Sandbox):
    with started(sandbox) as terminal:
        run_both(terminal)
        later = files(sandbox)
        preview_the_second_message(terminal)
        terminal.press("n")
        screen = terminal.wait_for("Forked from")
        assert "Second done." not in screen
        terminal.wait_until(lambda text: "go on there" in text.split("Forked from")[1], "the message in the prompt")
        assert files(sandbox) == later
        terminal.press("enter")
        terminal.wait_for("s/^line.15$/LINE15/")


def content(directory: Path) -> dict[str, str]:
    paths = (path for path in directory.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {str(path.relative_to(directory)): path.read_text() for path in paths}


def git(directory: Path, *words: str) -> None:
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *words], cwd=directory, check=True)


def test_fork_in_a_worktree_has_the_files_of_its_event_and_goes_back_and_on(sandbox: Sandbox):
    project = sandbox.project
    (project / "tracked.log").write_text("tracked, though ignored\n")
    (project / "gone.txt").write_text("deleted before the session\n")
    git(project, "init", "-qb", "main")
    git(project, "add", "-A")
    (project / ".gitignore").write_text("*.log\n")
    git(project, "add", ".gitignore")
    git(project, "commit", "-qm", "first")
    (project / "gone.txt").unlink()
    session = ran(sandbox)
    later = content(project)
    message, first, _ = (line.split()[0] for line in sandbox.command("rewind", session).stdout.splitlines())
    beside = project.parent / "other"

    assert "exists already" in sandbox.command("fork", session, "--worktree", str(project)).stderr
    assert "is inside the directory of the session" in sandbox.command("fork", session, "--worktree", "inner").stderr
    assert "create it first" in sandbox.command("fork", session, "--worktree", "no/such/dir").stderr
    done = sandbox.command("fork", session, "--at", first, "--worktree", str(beside))
    fork = done.stdout.split()[0]
    assert f"Its directory: {beside}" in done.stdout, done.stderr
    before = {
        "tracked.log": "tracked, though ignored\n",
        ".gitignore": "*.log\n",
        "a.txt": "mine\n",
        "old.txt": "old\n",
    }
    assert content(beside) == {**before, "a.txt": "mine\none\n"}
    assert run_git(["rev-parse", "--abbrev-ref", "HEAD"], cwd=beside).output == f"ohw/{fork}\n".encode()

    done = sandbox.command("rewind", fork, message, "--yes")
    assert "not in the file versions" not in done.stdout, done.stderr
    assert "write   a.txt" in done.stdout, (done.stdout, done.stderr)
    assert content(beside) == before
    sandbox.command("rewind", fork, "--redo", "--yes")
    assert content(beside) == {**before, "a.txt": "mine\none\n"}
    assert content(project) == later


def test_fork_of_a_directory_without_a_repository_is_a_copy_beside_it(sandbox: Sandbox):
    session = ran(sandbox)
    done = sandbox.command("fork", session, "--worktree")
    copy = Path(done.stdout.split("Its directory: ")[1].splitlines()[0])
    assert copy.parent == sandbox.project.parent
    assert content(copy) == files(sandbox)
    with Store.open(session_path(sandbox.locations, done.stdout.split()[0]), readonly=True) as store:
        events = list(store.events())
    changed = [file.path for event in events if event.kind == "version_taken" for file in event.files]
    assert events[0].workspace == str(copy)
    assert changed
    assert all(Path(path).is_relative_to(copy) for path in changed)
