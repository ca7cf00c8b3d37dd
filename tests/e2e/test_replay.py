"""`ohw replay` runs a session of the real program again, and tells whether anything differs."""

from __future__ import annotations

import json
import shutil
import subprocess

from tests.e2e.test_rewind import files
from tests.sandbox import Sandbox, bash, finish
from tests.terminal.terminal import Terminal


def ran(sandbox: Sandbox, *turns) -> str:
    """Run an agent that plays these turns; return the id of its session."""
    done = sandbox.agent("run", "go", "--json", "--mode", "never", "--model", sandbox.script(*turns, finish()))
    return json.loads(done.stdout.splitlines()[0])["id"]


def test_session_of_edits_and_shell_commands_is_equal_and_touches_nothing(sandbox: Sandbox):
    (sandbox.project / "a.txt").write_text("mine\n")
    (sandbox.project / "old.txt").write_text("old\n")
    project = str(sandbox.project)
    edit = {"command": "str_replace", "path": f"{project}/a.txt", "old_str": "mine", "new_str": "ours"}
    session = ran(
        sandbox,
        bash("echo one >> a.txt; date; echo $$"),
        {"tool": "str_replace_editor", "risk": "LOW", "arguments": edit},
        bash(f"cd {project} && rm old.txt && mkdir -p d/empty && echo new > d/new.txt && mv a.txt b.txt && pwd"),
        bash("ls -la d; sleep 0.2; time true"),
    )
    later = files(sandbox)
    recorded = (sandbox.locations.sessions / f"{session}.session").read_bytes()
    done = sandbox.ohw("replay", session)
    assert (done.returncode, done.stdout) == (0, "Equal: 5 actions ran again.\n"), done.stdout + done.stderr
    assert files(sandbox) == later
    assert (sandbox.locations.sessions / f"{session}.session").read_bytes() == recorded


def greeter(sandbox: Sandbox, text: str) -> str:
    """Install a program outside the project that prints the text and writes it to a file; return the PATH with it."""
    program = sandbox.home / "bin/greet"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!/bin/sh\necho {text}\necho {text} > greeting.txt\n")
    program.chmod(0o755)
    return f"{program.parent}:{sandbox.env['PATH']}"


def test_changed_tool_is_reported_with_its_event_and_the_difference(sandbox: Sandbox):
    sandbox.env["PATH"] = greeter(sandbox, "hello")
    session = ran(sandbox, bash("echo first"), bash("echo before; greet; echo after"), bash("cat greeting.txt"))
    assert sandbox.agent("replay", session).returncode == 0
    greeter(sandbox, "goodbye")
    done = sandbox.agent("replay", session)
    assert done.returncode == 1
    heading, *diff = done.stdout.splitlines()
    assert heading.endswith(", execute_bash (echo before; greet; echo after): the result differs"), done.stderr
    assert diff == [
        "  --- recorded",
        "  +++ now",
        "   before",
        "  -hello",
        "  +goodbye",
        "   after",
        "   [The command completed with exit code 0.]",
        "",
        "1 difference: 2 actions ran again.",
    ], done.stdout
    everything = json.loads(sandbox.agent("replay", session, "--keep-going", "--json").stdout)
    found = [(each["what"], each["path"], each["diff"]) for each in everything["divergences"]]
    assert found[1:] == [("file", "greeting.txt", ["-hello", "+goodbye"])]
    seq = everything["divergences"][0]["seq"]
    assert f"Event {seq}," in heading
    assert sandbox.agent("replay", session, "--until", str(seq - 1)).returncode == 0


def git(sandbox: Sandbox, *words: str) -> str:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *words]
    env = {**sandbox.env, "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z"}  # the reflog counts whole seconds
    return subprocess.run(command, cwd=sandbox.project, env=env, check=True, capture_output=True, text=True).stdout


def test_commits_are_made_again_on_the_branch_of_then(sandbox: Sandbox):
    git(sandbox, "init", "-qb", "main")
    (sandbox.project / "a.txt").write_text("one\n")
    git(sandbox, "add", "-A")
    git(sandbox, "commit", "-qm", "first")
    settings = "git config user.name me; git config user.email me@example.org"
    session = ran(
        sandbox,
        bash(f"{settings}; git switch -qc topic; echo two >> a.txt; git commit -qam second; git log --oneline"),
        bash("echo three > b.txt; git add b.txt; git status --short; git branch; git commit -m third"),
    )
    git(sandbox, "switch", "-q", "main")
    before = git(sandbox, "log", "--all", "--format=%H %D")
    done = sandbox.agent("replay", session)
    assert done.returncode == 0, done.stdout + done.stderr
    assert git(sandbox, "log", "--all", "--format=%H %D") == before


def test_demo_is_equal_with_the_decisions_of_its_user(sandbox: Sandbox):
    with Terminal(["demo"], 130, 44, sandbox.env) as terminal:
        terminal.wait_until(lambda screen: "325000)" in screen and "y Approve" in screen, "the first question", 60)
        terminal.press("n")
        terminal.wait_for("Reason for the agent")
        terminal.type("the test is right")
        terminal.press("enter")
        terminal.wait_until(lambda screen: 'found["sign"]' in screen and "y Approve" in screen, "the second", 60)
        terminal.press("y")
        terminal.wait_until(lambda screen: "rm -rf" in screen and "y Approve" in screen, "the third question", 60)
        terminal.press("y")
        terminal.wait_for("✓ Finished", 60)
        (project,) = sandbox.home.glob("ohw-demo-*/*")
        (project / "mine.txt").write_text("Keeps the directory, whose other hidden entries are not in any version.\n")
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0
    done = sandbox.agent("replay", "--last", "--json", "--keep-going")
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads(done.stdout)
    assert (result["equal"], result["divergences"], result["not_run"]) == (True, [], 1)
    assert result["ran"] > 10


def test_session_that_cannot_be_replayed_exits_with_2_and_a_reason(sandbox: Sandbox):
    (sandbox.project / "mine.txt").write_text("mine\n")
    session = ran(sandbox, bash("echo one > a.txt"))
    reasons = {
        ("20260101-nothing-1111",): "no session",
        (session, "--until", "999"): "there is no event 999",
        (session, "--until", "x"): "invalid int value",
    }
    for words, reason in reasons.items():
        done = sandbox.agent("replay", *words)
        assert (done.returncode, done.stdout) == (2, ""), done
        assert reason in done.stderr, done.stderr
    shutil.rmtree(sandbox.locations.data / "versions")
    done = sandbox.agent("replay", session)
    assert done.returncode == 2
    assert "is gone: it was pruned or deleted" in done.stderr
    assert not list(sandbox.home.glob("ohw-replay-*"))
