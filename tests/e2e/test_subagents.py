"""Sub-agents end to end: in a headless run, and on a screen that asks about their actions."""

from __future__ import annotations

import json

from tests.e2e.test_open_questions import say
from tests.sandbox import Sandbox, bash, finish, wait_for
from tests.subagent_scripts import delegating
from tests.terminal.terminal import Terminal
from workbench.session.storage.session_list import last_session, list_sessions

WRITER = {"writer": [bash("echo one > one.txt", risk="HIGH"), finish("I wrote it.")]}


def work(sandbox: Sandbox, agents: dict, *more: str) -> tuple[str, ...]:
    model = delegating(sandbox.home / "script.toml", agents)
    return ("share it", "--model", model, "--workspace", str(sandbox.project), *more)


def test_headless_run_delegates_to_two_sub_agents(sandbox: Sandbox):
    meet = "touch {0}; for i in $(seq 600); do [ -e {1} ] && break; sleep 0.05; done; test -e {1} && echo met > {0}"
    agents = {
        "left": [bash(meet.format("l", "r")), finish("left is done")],
        "right": [bash(meet.format("r", "l")), finish("right is done")],
    }
    done = sandbox.agent("run", *work(sandbox, agents, "--mode", "never", "--json"))
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert {event["agent"] for event in events if event["kind"] == "delegate_step"} == {"left", "right"}
    assert [(sandbox.project / name).read_text() for name in "lr"] == ["met\n", "met\n"]
    assert "  left ▸ execute_bash: touch l" in done.stderr
    listed = sandbox.command("sessions").stdout
    assert listed.count("sub-agent of") == 2
    assert not sandbox.processes()


def test_headless_question_of_a_sub_agent_ends_the_run_and_is_answered_later(sandbox: Sandbox):
    done = sandbox.agent("run", *work(sandbox, WRITER))
    assert done.returncode == 3, done.stderr
    (own,) = [entry.id for entry in list_sessions(sandbox.locations) if not entry.parent]
    assert f"may execute_bash run for the sub-agent writer? Answer it with `ohw resume {own}`" in done.stderr
    assert not (sandbox.project / "one.txt").exists()
    with Terminal(["resume", own], 130, 40, sandbox.env) as terminal:
        terminal.wait_until(lambda screen: "y Approve" in screen and "sub-agent writer" in screen, "the question")
        terminal.press("y")
        terminal.wait_for("✓ Finished")
        terminal.wait_for("I wrote it.")
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0
    assert (sandbox.project / "one.txt").exists()
    wait_for(lambda: not sandbox.processes(), "every process to be gone")


def test_screen_shows_a_sub_agents_question_with_its_name(sandbox: Sandbox):
    with Terminal(work(sandbox, WRITER), 130, 40, sandbox.env) as terminal:
        terminal.wait_until(lambda screen: "y Approve" in screen and "sub-agent writer" in screen, "the question")
        assert not (sandbox.project / "one.txt").exists()
        terminal.press("y")
        terminal.wait_for("✓ Finished")
        terminal.wait_for("↳ writer · ")
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0
    assert (sandbox.project / "one.txt").read_text() == "one\n"
    assert last_session(sandbox.locations).ended == "finished"
    wait_for(lambda: not sandbox.processes(), "every process to be gone")


def test_sub_agents_question_survives_its_engine_and_the_call_continues(sandbox: Sandbox):
    with Terminal(work(sandbox, WRITER), 130, 40, sandbox.env) as terminal:
        terminal.wait_for("y Approve")
        sandbox.engine().kill()
        terminal.wait_for("The agent process stopped")
        terminal.press("escape")
        terminal.wait_until(lambda screen: "y Approve" not in screen, "the question to be put off")
        say(terminal, "what happened?")
        terminal.wait_for("queued")
        terminal.press("f8")
        terminal.wait_for("y Approve")
        assert not (sandbox.project / "one.txt").exists()
        terminal.press("y")
        terminal.wait_for("✓ Finished")
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0
    assert (sandbox.project / "one.txt").read_text() == "one\n"
    wait_for(lambda: not sandbox.processes(), "every process to be gone")


def test_screen_closed_during_a_sub_agents_question_leaves_no_process(sandbox: Sandbox):
    with Terminal(work(sandbox, WRITER), 130, 40, sandbox.env) as terminal:
        terminal.wait_for("y Approve")
        terminal.press("escape")
        terminal.wait_until(lambda screen: "y Approve" not in screen, "the question to be put off")
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0
    wait_for(lambda: not sandbox.processes(), "every process to be gone")
    (child,) = [entry for entry in list_sessions(sandbox.locations) if entry.parent]
    assert child.ended == ""
    assert not (sandbox.project / "one.txt").exists()


def test_sub_agents_processes_have_no_key_in_their_environment(sandbox: Sandbox):
    command = "env > env.txt; cat /proc/self/environ /proc/$PPID/environ | tr '\\0' '\\n' > raw.txt"
    agents = {"writer": [bash(command), finish("I wrote it.")]}
    sandbox.env |= {"OPENAI_API_KEY": "sk-of-the-test", "GITHUB_TOKEN": "ghp-of-the-test", "PLAIN_NAME": "plain"}
    done = sandbox.agent("run", *work(sandbox, agents, "--mode", "never"))
    assert done.returncode == 0, done.stderr
    for name in ("env.txt", "raw.txt"):
        dumped = (sandbox.project / name).read_text()
        assert "PATH=" in dumped
        assert "of-the-test" not in dumped
        assert not {line.partition("=")[0] for line in dumped.splitlines()} & {"OPENAI_API_KEY", "GITHUB_TOKEN"}
    assert "PLAIN_NAME=plain" in (sandbox.project / "env.txt").read_text()


def test_run_that_ends_with_several_questions_names_all(sandbox: Sandbox):
    agents = {name: [bash(f"touch {name}", "HIGH"), finish()] for name in ("left", "right")}
    done = sandbox.agent("run", *work(sandbox, agents))
    assert done.returncode == 3, done.stderr
    (own,) = [entry.id for entry in list_sessions(sandbox.locations) if not entry.parent]
    for name in agents:
        assert f"HIGH may execute_bash run for the sub-agent {name}?  touch {name}" in done.stderr
    assert f"stopped at 2 questions. Answer them with `ohw resume {own}`" in done.stderr
