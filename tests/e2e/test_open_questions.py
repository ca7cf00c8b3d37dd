"""A question on the screen while the engine is killed, or while the user writes something else."""

from __future__ import annotations

import os
import signal

from tests.sandbox import Sandbox, bash, finish, wait_for
from tests.terminal.terminal import Terminal
from workbench.protocol.events import ActionProposed, ActionStarted, Event
from workbench.session.session_names import session_path
from workbench.session.storage.session_list import list_sessions
from workbench.session.storage.store import Store


def ask(sandbox: Sandbox) -> tuple[str, ...]:
    """The arguments of a screen whose agent asks to write a line, and finishes after that."""
    model = sandbox.script(bash("echo ran >> made-it", risk="HIGH"), finish("As you wish."))
    return ("make the file", "--model", model, "--workspace", str(sandbox.project))


def say(terminal: Terminal, text: str) -> None:
    terminal.type(text)
    terminal.wait_for(text)
    terminal.press("enter")


def log(sandbox: Sandbox) -> list[Event]:
    (session,) = list_sessions(sandbox.locations)
    with Store.open(session_path(sandbox.locations, session.id), readonly=True) as store:
        return list(store.events())


def kinds(sandbox: Sandbox) -> list[str]:
    return [event.kind for event in log(sandbox) if event.kind != "version_taken"]


def test_killed_engine_is_reported_and_resume_asks_its_question_again(sandbox: Sandbox):
    with Terminal(ask(sandbox), 110, 34, sandbox.env) as terminal:
        terminal.wait_for("y Approve")
        sandbox.engine().kill()
        terminal.wait_for("The agent process stopped")
        wait_for(lambda: len(sandbox.processes()) == 1, "only the screen to be left")
        os.kill(terminal.pid, signal.SIGTERM)
        assert terminal.wait_exit() == 143
    assert kinds(sandbox)[-1] == "action_assessed"
    with Terminal(["resume", "--last"], 110, 34, sandbox.env) as terminal:
        terminal.wait_for("y Approve")
        assert "echo ran >> made-it" in terminal.text()
        assert not (sandbox.project / "made-it").exists()
        terminal.press("y")
        terminal.wait_for("As you wish.")
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0
    assert (sandbox.project / "made-it").read_text() == "ran\n"
    wait_for(lambda: not sandbox.processes(), "every process to be gone")


def test_answer_after_the_engine_was_killed_is_applied_once(sandbox: Sandbox):
    with Terminal(ask(sandbox), 110, 34, sandbox.env) as terminal:
        terminal.wait_for("y Approve")
        sandbox.engine().kill()
        terminal.wait_for("The agent process stopped")
        terminal.wait_for("y Approve")
        terminal.press("y")
        terminal.wait_for("As you wish.")
        assert (sandbox.project / "made-it").read_text() == "ran\n"
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0


def test_messages_sent_during_a_question_never_run_the_action(sandbox: Sandbox):
    with Terminal(ask(sandbox), 80, 24, sandbox.env) as terminal:
        terminal.wait_for("y Approve")
        terminal.press("escape")
        terminal.wait_until(lambda screen: "Esc Not now" not in screen, "the question to be put off")
        say(terminal, "stop, do not do that")
        wait_for(lambda: kinds(sandbox).count("user_message") == 2, "the message to be in the log")
        assert "action_decided" not in kinds(sandbox)
        say(terminal, "/stop")
        terminal.wait_for("Stopped by you")
        say(terminal, "what else?")
        terminal.wait_for("As you wish.")
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0
    assert not (sandbox.project / "made-it").exists()
    _, *others = [event.action_id for event in log(sandbox) if isinstance(event, ActionProposed)]
    assert [event.action_id for event in log(sandbox) if isinstance(event, ActionStarted)] == others
