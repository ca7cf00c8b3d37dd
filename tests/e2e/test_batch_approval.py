"""Three calls in one answer of a model: one list of questions, also after a kill, and one result for each call."""

from __future__ import annotations

import os
import signal

from tests.e2e.test_open_questions import kinds
from tests.e2e.test_partial_approval import args, leave
from tests.fakes.model_server import ModelServer
from tests.fakes.model_turns import Called, Turn, finish
from tests.sandbox import Sandbox, wait_for
from tests.terminal.terminal import Terminal


def test_three_calls_survive_a_kill_and_two_of_them_are_approved(sandbox: Sandbox):
    file, directory = sandbox.project / "notes.txt", sandbox.project / "kept"
    file.write_text("one\ntwo\n")
    directory.mkdir()
    edit = {"command": "str_replace", "path": str(file), "old_str": "two", "new_str": "three"}
    three = Turn(
        calls=[
            Called("str_replace_editor", {"security_risk": "LOW", "summary": "count on", **edit}),
            Called("execute_bash", {"security_risk": "MEDIUM", "summary": "mark it", "command": "echo ran >> marked"}),
            Called("execute_bash", {"security_risk": "HIGH", "summary": "tidy up", "command": "rmdir kept"}),
        ]
    )
    with ModelServer([three, finish("As you wish.")]) as server:
        with Terminal(args(sandbox, server), 110, 44, sandbox.env) as terminal:
            terminal.wait_until(lambda screen: "1 of 3" in screen and "y Approve" in screen, "three questions")
            wait_for(lambda: kinds(sandbox).count("action_assessed") == 3, "all of them to be in the log")
            sandbox.engine().kill()
            wait_for(lambda: len(sandbox.processes()) == 1, "only the screen to be left")
            os.kill(terminal.pid, signal.SIGTERM)
            assert terminal.wait_exit() == 143
        assert (file.read_text(), (sandbox.project / "marked").exists()) == ("one\ntwo\n", False)
        with Terminal(["resume", "--last"], 110, 44, sandbox.env) as terminal:
            terminal.wait_until(lambda screen: "1 of 3" in screen and "y Approve" in screen, "the same questions")
            assert all(
                part in terminal.text() for part in ("◆ MEDIUM", "▲ HIGH", "$ rmdir kept", "$ echo ran >> marked")
            )
            terminal.press("Y")
            terminal.wait_for("▲ HIGH is asked separately")
            terminal.wait_for("Y Approve 2 of 3")
            terminal.press("Y")
            wait_for(lambda: (sandbox.project / "marked").exists(), "what was approved to run")
            terminal.wait_until(lambda screen: "rmdir kept" in screen and "y Approve" in screen, "the third alone")
            assert "of 3" not in terminal.text()
            terminal.press("n")
            terminal.wait_for("Reason for the agent")
            terminal.type("I need it\r")
            leave(terminal)
        results = [m["content"] for m in server.requests[-1].messages if m["role"] == "tool"]
    assert (file.read_text(), (sandbox.project / "marked").read_text()) == ("one\nthree\n", "ran\n")
    assert directory.exists()
    assert len(results) == 3
    assert "three" in results[0]
    assert "exit code 0" in results[1]
    assert "The user's note: I need it" in results[2]
    assert len(server.requests) == 2, "the restart asked the model nothing"
    wait_for(lambda: not sandbox.processes(), "every process to be gone")
