"""`ohw compare` shows what sessions did and cost side by side, and where they differ first."""

from __future__ import annotations

import json
from typing import Any

from tests.sandbox import Sandbox, bash, finish


def ran(sandbox: Sandbox, *commands: str) -> str:
    """Run an agent that runs these commands and ends; return the id of its session."""
    model = sandbox.script(*map(bash, commands), finish())
    done = sandbox.ohw("run", "go", "--json", "--mode", "never", "--model", model)
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
    assert result["first_differences"][0]["one"]["title"] == "execute_bash: sed -i s/two/2/ a.txt"


def test_two_runs_that_do_the_same_have_no_difference(sandbox: Sandbox):
    first, second = ran(sandbox, "ls"), ran(sandbox, "ls")
    assert "has the same messages, answers and decisions" in sandbox.command("compare", first, second).stdout
    assert compared(sandbox, first, second)["first_differences"] == [None]


def test_fork_and_its_session_differ_from_the_fork_on(sandbox: Sandbox):
    session = ran(sandbox, "echo one > a.txt", "echo two > a.txt")
    checkpoint = sandbox.command("rewind", session).stdout.splitlines()[1].split()[0]
    fork = sandbox.command("fork", session, "--at", checkpoint).stdout.split()[0]
    done = sandbox.command("compare", session, fork)
    assert f"{session} and {fork} share {checkpoint} events; then" in done.stdout
    assert f"{session}: event" in done.stdout.split("then")[1]
    assert f"{fork}: nothing more" in done.stdout
    assert compared(sandbox, fork, session)["first_differences"][0]["forked_at"] == int(checkpoint)


def test_sessions_that_cannot_be_compared_are_named(sandbox: Sandbox):
    first, second = ran(sandbox, "ls"), ran(sandbox, "ls")
    done = sandbox.command("compare", first, "nothing")
    assert (done.returncode, done.stderr) == (2, "ohw: there is no session 'nothing'; `ohw sessions` lists them\n")
    assert f"the session {first} is named twice" in sandbox.command("compare", first, first).stderr
    assert "name two sessions or more" in sandbox.command("compare", first).stderr
    file = sandbox.locations.sessions / f"{second}.session"
    file.write_bytes(file.read_bytes()[:5000])
    done = sandbox.command("compare", first, second)
    assert done.returncode != 0
    assert f"`ohw sessions repair {second}`" in done.stderr


def test_fork_whose_parent_file_is_gone_is_named(sandbox: Sandbox):
    session = ran(sandbox, "ls")
    fork = sandbox.command("fork", session).stdout.split()[0]
    other = ran(sandbox, "ls")
    (sandbox.locations.sessions / f"{session}.session").unlink()
    done = sandbox.command("compare", fork, other)
    assert done.returncode != 0
    assert fork in done.stderr, done.stderr
