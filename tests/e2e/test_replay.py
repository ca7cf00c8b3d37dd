"""`ohw replay` runs a session of the real program again, and tells whether anything differs."""

from __future__ import annotations

import json
import subprocess

from tests.e2e.test_rewind import files
from tests.sandbox import Sandbox, bash, finish


def ran(sandbox: Sandbox, *turns) -> str:
    """Run an agent that plays these turns; return the id of its session."""
    done = sandbox.ohw("run", "go", "--json", "--mode", "never", "--model", sandbox.script(*turns, finish()))
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
    assert sandbox.ohw("replay", session).returncode == 0
    greeter(sandbox, "goodbye")
    done = sandbox.ohw("replay", session)
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
    everything = json.loads(sandbox.ohw("replay", session, "--keep-going", "--json").stdout)
    found = [(each["what"], each["path"], each["diff"]) for each in everything["divergences"]]
    assert found[1:] == [("file", "greeting.txt", ["-hello", "+goodbye"])]
    seq = everything["divergences"][0]["seq"]
    assert f"Event {seq}," in heading
    assert sandbox.ohw("replay", session, "--until", str(seq - 1)).returncode == 0


def git(sandbox: Sandbox, *words: str) -> str:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *words]
    return subprocess.run(
        command, cwd=sandbox.project, env=sandbox.env, check=True, capture_output=True, text=True
    ).stdout


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
    done = sandbox.ohw("replay", session)
    assert done.returncode == 0, done.stdout + done.stderr
    assert git(sandbox, "log", "--all", "--format=%H %D") == before
