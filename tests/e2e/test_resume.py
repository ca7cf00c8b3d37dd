"""The whole of `ohw` in a pseudo terminal: screen, engine, tools."""

from __future__ import annotations

import os
import signal

from tests.sandbox import Sandbox, bash, finish, wait_for
from tests.terminal.terminal import Terminal
from workbench.session.session_names import session_path
from workbench.session.storage.session_list import list_sessions
from workbench.session.storage.store import Store


def kinds(sandbox: Sandbox, name: str) -> list[str]:
    with Store.open(session_path(sandbox.locations, name), readonly=True) as store:
        return [event.kind for event in store.events() if event.kind != "version_taken"]


def test_resume_after_a_killed_screen_shows_the_open_question(sandbox: Sandbox):
    model = sandbox.script(bash("touch made-it", risk="HIGH"), finish("All done."))
    where = ("--workspace", str(sandbox.project))
    with Terminal(["make the file", "--model", model, *where], 110, 34, sandbox.env) as terminal:
        terminal.wait_for("touch made-it")
        (session,) = wait_for(lambda: list_sessions(sandbox.locations), "the session to be listed")
        wait_for(lambda: "action_assessed" in kinds(sandbox, session.id), "the question to be on disk")
        os.kill(terminal.pid, signal.SIGKILL)
        assert terminal.wait_exit() == 137
    wait_for(lambda: not sandbox.processes(), "engine and shell to end by themselves")
    assert kinds(sandbox, session.id)[-1] == "action_assessed"
    with Terminal(["resume", session.id], 110, 34, sandbox.env) as terminal:
        terminal.wait_for("make the file")
        terminal.wait_for("touch made-it")
        os.kill(terminal.pid, signal.SIGTERM)
        assert terminal.wait_exit() == 143
    wait_for(lambda: not sandbox.processes(), "every process to be gone")
    assert not (sandbox.project / "made-it").exists()
    assert kinds(sandbox, session.id)[-1] == "action_assessed"


def test_run_finishes_after_its_screen_was_killed_during_a_command(sandbox: Sandbox):
    go = sandbox.project / "go"
    command = f"touch begun; while [ ! -e {go} ]; do sleep 0.05; done; (setsid sleep 777 &)"
    args = ("work", "--model", sandbox.script(bash(command), finish("All done.")), "--mode", "never")
    with Terminal([*args, "--workspace", str(sandbox.project)], 110, 34, sandbox.env) as terminal:
        terminal.never_ask()
        wait_for((sandbox.project / "begun").exists, "the command to run")
        os.kill(terminal.pid, signal.SIGKILL)
        assert terminal.wait_exit() == 137
    go.touch()
    wait_for(lambda: not sandbox.processes(), "engine and shell to end by themselves")
    (session,) = list_sessions(sandbox.locations)
    assert session.ended == "finished"
    assert kinds(sandbox, session.id).count("action_observed") == 2
    with Terminal(["resume", session.id], 110, 34, sandbox.env) as terminal:
        terminal.wait_for("All done.")
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0


def test_session_that_cannot_be_resumed_is_reported_in_one_line(sandbox: Sandbox):
    path = session_path(sandbox.locations, "20260101-broken-0000")
    path.parent.mkdir(parents=True)
    path.write_bytes(b"no session" * 500)
    for args, message in ((["resume", path.stem], "cannot be opened"), (["resume", "--last"], "no session yet")):
        with Terminal(args, 110, 30, sandbox.env) as terminal:
            assert terminal.wait_exit() in (1, 2)
            assert message in " ".join(terminal.text().split())
            assert "Traceback" not in terminal.text()
    assert path.read_bytes() == b"no session" * 500
