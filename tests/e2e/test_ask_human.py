"""A question of the agent: on the screen, without a screen, and after the engine was killed."""

from __future__ import annotations

from typing import Any

from tests.e2e.test_open_questions import kinds, log, say
from tests.sandbox import Sandbox, bash, finish, wait_for
from tests.terminal.terminal import Terminal
from workbench.protocol.events import ActionObserved
from workbench.session.storage.session_list import list_sessions

OPTIONS = ["by date", "by amount"]


def ask(question: str = "Which order?", **more: Any) -> dict[str, Any]:
    return {"tool": "ask_human", "arguments": {"question": question, **more}}


def work(sandbox: Sandbox, *turns: dict[str, Any]) -> tuple[str, ...]:
    """Return the arguments of a run that plays these turns and then finishes."""
    return ("sort it", "--model", sandbox.script(*turns, finish("As you wish.")), "--workspace", str(sandbox.project))


def answers(sandbox: Sandbox) -> list[str]:
    """Return the results in the log, without that of `finish`."""
    seen = [event.observation["content"][0]["text"] for event in log(sandbox) if isinstance(event, ActionObserved)]
    return [text for text in seen if text != "As you wish."]


def test_options_and_free_text_are_valid_answers(sandbox: Sandbox):
    args = work(sandbox, ask(options=OPTIONS), ask("Which file?"))
    with Terminal(args, 110, 34, sandbox.env) as terminal:
        terminal.wait_until(lambda screen: "Which order?" in screen and "1–2 Choose" in screen, "the first question")
        terminal.press("2")
        terminal.wait_until(lambda screen: "Which file?" in screen and "Enter Send" in screen, "the second question")
        terminal.type("2 of them")
        terminal.wait_for("2 of them")
        terminal.press("enter")
        terminal.wait_for("✓ Finished")
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0
    assert answers(sandbox) == ["by amount", "2 of them"]


def test_question_survives_a_killed_engine_and_is_asked_again(sandbox: Sandbox):
    args = work(sandbox, bash("echo ran >> made-it"), ask(options=OPTIONS))
    with Terminal((*args, "--mode", "never"), 110, 34, sandbox.env) as terminal:
        terminal.never_ask()
        terminal.wait_for("1–2 Choose")
        sandbox.engine().kill()
        terminal.wait_for("The agent process stopped")
        terminal.press("escape")
        terminal.wait_until(lambda screen: "The agent asks" not in screen, "the question to be put off")
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0
    wait_for(lambda: not sandbox.processes(), "every process to be gone")
    assert kinds(sandbox)[-1] == "action_assessed"
    with Terminal(["resume", "--last"], 110, 34, sandbox.env) as terminal:
        terminal.wait_for("1–2 Choose")
        terminal.press("1")
        terminal.wait_for("As you wish.")
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0
    assert answers(sandbox)[-1] == "by date"
    assert (sandbox.project / "made-it").read_text() == "ran\n"


def test_messages_during_a_question_are_queued_and_a_stop_ends_it(sandbox: Sandbox):
    with Terminal(work(sandbox, ask(options=OPTIONS)), 80, 24, sandbox.env) as terminal:
        terminal.wait_for("1–2 Choose")
        terminal.press("escape")
        terminal.wait_until(lambda screen: "The agent asks" not in screen, "the question to be put off")
        say(terminal, "1")
        wait_for(lambda: kinds(sandbox).count("user_message") == 2, "the message to be in the log")
        assert kinds(sandbox)[-2:] == ["action_assessed", "user_message"]
        say(terminal, "/stop")
        terminal.wait_for("Stopped by you")
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0
    assert "action_started" not in kinds(sandbox)
    assert list_sessions(sandbox.locations)[0].ended == "interrupted"


def test_headless_question_stops_the_run_with_code_3_and_resume_asks(sandbox: Sandbox):
    args = work(sandbox, ask("Which order?\nThe file has two.", options=[*OPTIONS, "\x1b[2Jnone"]))
    done = sandbox.agent("run", *args)
    assert done.returncode == 3, done.stderr
    lines = done.stderr.splitlines()
    at = lines.index("Which order?")
    assert lines[at : at + 5] == [
        "Which order?",
        "The file has two.",
        "  1. by date",
        "  2. by amount",
        "  3. \\e[2Jnone",
    ]
    assert "ohw resume" in lines[-1]
    assert done.stdout == ""
    with Terminal(["resume", "--last"], 110, 34, sandbox.env) as terminal:
        terminal.wait_for("1–3 Choose")
        terminal.press("1")
        terminal.wait_for("As you wish.")
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0
    assert answers(sandbox) == ["by date"]
