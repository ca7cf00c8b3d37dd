"""`ohw replay --from` lets a session take another future, in a fork with a directory of its own."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.test_compare import compared, ran
from tests.e2e.test_rewind import files
from tests.sandbox import Sandbox, bash, finish


def went_on(sandbox: Sandbox, *words: str) -> tuple[str, Path]:
    """Run a session on from an event; return the id and the directory of the new future."""
    done = sandbox.ohw("replay", *words, "--mode", "never")
    assert done.returncode == 0, done.stderr
    directory = Path(done.stderr.split("its directory: ")[1].splitlines()[0])
    return done.stderr.split("compare with: ohw compare ")[1].split()[1], directory


def test_another_model_answers_the_same_message(sandbox: Sandbox):
    session = ran(sandbox, "echo one > a.txt")
    message = sandbox.command("rewind", session).stdout.split()[0]
    before = files(sandbox)
    other = sandbox.script(bash("echo other > a.txt"), finish())
    fork, directory = went_on(sandbox, session, "--from", message, "--model", other)
    assert (directory / "a.txt").read_text() == "other\n"
    assert files(sandbox) == before
    (pair,) = compared(sandbox, session, fork)["differences"]
    assert pair["files"][0]["path"] == "a.txt"
    assert pair["first_step"]["session"]["kind"] == "answer"


def test_another_prompt_is_sent_after_an_action(sandbox: Sandbox):
    session = ran(sandbox, "echo one > a.txt", "echo two > a.txt")
    checkpoint = sandbox.command("rewind", session).stdout.splitlines()[1].split()[0]
    other = sandbox.script(bash("echo one > a.txt"), bash("cat a.txt > b.txt"), finish())
    fork, directory = went_on(sandbox, session, "--from", checkpoint, "--prompt", "copy it", "--model", other)
    assert (directory / "b.txt").read_text() == "one\n"
    assert (sandbox.project / "a.txt").read_text() == "two\n"
    assert "copy it" in sandbox.command("export", fork).stdout


def test_new_future_may_not_write_where_the_session_works(sandbox: Sandbox):
    session = ran(sandbox, "echo one > a.txt")
    message = sandbox.command("rewind", session).stdout.split()[0]
    other = sandbox.script(bash(f"echo other > {sandbox.project}/a.txt"), finish())
    went_on(sandbox, session, "--from", message, "--model", other)
    assert (sandbox.project / "a.txt").read_text() == "one\n"


def test_what_cannot_go_on_is_refused_and_leaves_nothing(sandbox: Sandbox):
    session = ran(sandbox, "ls")
    for words, reason in (
        (["--from", "2"], "--prompt TEXT or --model NAME"),
        (["--from", "2", "--prompt", "x", "--live"], "no --until"),
        (["--from", "999", "--prompt", "x"], "there is no event 999"),
        (["--from", "4", "--prompt", "x"], "is no checkpoint"),
    ):
        done = sandbox.command("replay", session, *words)
        assert done.returncode == 2
        assert reason in done.stderr
    done = sandbox.command("replay", session, "--from", "2", "--model", "scripted/missing.toml")
    assert (done.returncode, "missing.toml" in done.stderr) == (1, True), done.stderr
    assert len(list(sandbox.locations.sessions.glob("*.session"))) == 1
    assert [path.name for path in sandbox.project.parent.iterdir() if path.name.startswith("project")] == ["project"]
