"""`ohw fork` in the real program: both sessions go on, and the fork outlives its parent."""

from __future__ import annotations

import json

from tests.e2e.test_rewind import files, ran
from tests.e2e.test_rewind_screen import run_both, started
from tests.sandbox import Sandbox
from workbench.session.storage.session_list import delete


def test_fork_goes_on_and_returns_into_the_shared_history(sandbox: Sandbox):
    session = ran(sandbox)
    later = files(sandbox)
    listed = [line.split()[0] for line in sandbox.ohw("rewind", session).stdout.splitlines()]
    assert "event 3 is no checkpoint" in sandbox.ohw("fork", session, "--at", "3").stderr
    assert "no event 999" in sandbox.ohw("fork", session, "--at", "999").stderr
    done = sandbox.ohw("fork", session)
    fork = done.stdout.split()[0]
    assert f"ohw resume {fork}" in done.stdout, done.stderr
    assert [line.split()[0] for line in sandbox.ohw("rewind", fork).stdout.splitlines()] == listed

    done = sandbox.ohw("rewind", fork, listed[1], "--yes")
    assert "create  old.txt" in done.stdout, done.stderr
    assert files(sandbox) == {"a.txt": "mine\none\n", "old.txt": "old\n"}
    sandbox.ohw("rewind", fork, "--redo", "--yes")
    assert files(sandbox) == later

    delete(sandbox.locations, session)
    exported = [json.loads(line) for line in sandbox.ohw("export", fork, "--jsonl").stdout.splitlines()]
    assert [event["seq"] for event in exported] == list(range(1, len(exported) + 1))
    assert exported[0]["id"] == fork
    assert "forked" in [event["kind"] for event in exported]


def test_new_session_from_the_preview_has_the_message_in_its_prompt(sandbox: Sandbox):
    with started(sandbox) as terminal:
        run_both(terminal)
        later = files(sandbox)
        terminal.type("/rewind")
        terminal.press("enter")
        terminal.wait_for("4 checkpoints")
        terminal.type("there")
        terminal.wait_for("1 of 4 checkpoints")
        terminal.press("enter")
        terminal.wait_for("Rewind to before: go on there")
        terminal.wait_for("3 files will change")
        terminal.press("n")
        screen = terminal.wait_for("Forked from")
        assert "Second done." not in screen
        terminal.wait_until(lambda text: "go on there" in text.split("Forked from")[1], "the message in the prompt")
        assert files(sandbox) == later
        terminal.press("enter")
        terminal.wait_for("s/^line.15$/LINE15/")
