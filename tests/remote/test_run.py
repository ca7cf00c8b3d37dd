"""`ohw run TASK ssh://HOST/PATH` in the real program: the agent works there, output and exit codes are as always."""

from __future__ import annotations

import json
import signal

import pytest

from tests.mcp.conftest import fake_server
from tests.remote.far_machine import FarMachine
from tests.remote.screens import (
    answer,
    events_there,
    lines_here,
    lines_there,
    opened,
    quit_screen,
    session_here,
    session_there,
)
from tests.sandbox import bash, finish, toml, wait_for
from tests.subagent_scripts import delegating
from workbench.protocol.codec import encode
from workbench.protocol.events import UserMessage

SHOWN = "def add(a, b):\n    return a + b\n"


def edit(far: FarMachine, before: str, after: str) -> dict:
    """A turn that edits `calc.py` there."""
    path = str(far.user.project / "calc.py")
    return {
        "tool": "str_replace_editor",
        "risk": "LOW",
        "summary": "Fix",
        "arguments": {"command": "str_replace", "path": path, "old_str": before, "new_str": after},
    }


def test_a_run_edits_a_file_there_and_prints_the_answer_here(far: FarMachine):
    path = far.user.project / "calc.py"
    path.write_text("def add(a, b):\n    return a - b\n")
    model = far.user.script(edit(far, "a - b", "a + b"), finish("Fixed add."))
    done = far.near.ohw("run", "fix add", far.url, "--model", model, "--mode", "never")
    assert (done.returncode, done.stdout) == (0, "Fixed add.\n"), done.stderr
    assert path.read_text() == "def add(a, b):\n    return a + b\n"
    assert f"session {session_there(far).id} in {far.user.project}" in done.stderr
    assert f"resume with: ohw resume {session_here(far).id}" in done.stderr
    assert session_there(far).ended == "finished"
    assert lines_here(far) == lines_there(far)
    wait_for(lambda: not far.user.processes(), "nothing of the session to run there")


def test_a_file_that_the_task_mentions_is_sent_as_it_is_there(far: FarMachine):
    (far.user.project / "calc.py").write_text("there\n")
    (far.near.project / "calc.py").write_text("here\n")
    done = far.near.ohw("run", "look at @calc.py", far.url, "--model", far.user.script(finish("All done.")))
    assert done.returncode == 0, done.stderr
    (message,) = [event for event in events_there(far) if isinstance(event, UserMessage)]
    assert [(each.path, each.text) for each in message.attached] == [("calc.py", "there\n")]


def test_the_json_lines_are_the_events_of_the_session_there(far: FarMachine):
    model = far.user.script(finish("All done."))
    done = far.near.ohw("run", "-", far.url, "--model", model, "--json", stdin="say hello\n")
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert events == [json.loads(encode(event)) for event in events_there(far)]
    assert session_there(far).title == "say hello"


def test_a_question_ends_the_run_with_code_3_and_is_answered_later_from_here(far: FarMachine):
    model = far.user.script(bash("touch made-it", risk="HIGH"), finish("All done."))
    done = far.near.ohw("run", "make a file", far.url, "--model", model)
    assert done.returncode == 3, done.stderr
    assert f"may execute_bash run? Answer it with `ohw resume {session_here(far).id}`" in done.stderr
    assert "it is HIGH (" in done.stderr
    assert not (far.user.project / "made-it").exists()
    wait_for(lambda: not far.user.processes(), "nothing of the session to run there")
    with opened(far, "resume", session_here(far).id) as terminal:
        answer(terminal)
        terminal.wait_for("✓ Finished")
        quit_screen(terminal)
    assert (far.user.project / "made-it").exists()


def test_the_questions_of_all_sub_agents_are_named(far: FarMachine):
    agents = {name: [bash(f"touch {name}", "HIGH"), finish()] for name in ("left", "right")}
    model = delegating(far.user.home / "agents.toml", agents)
    done = far.near.ohw("run", "go", far.url, "--model", model)
    assert done.returncode == 3, done.stderr
    for name in agents:
        assert f"HIGH may execute_bash run for the sub-agent {name}?  touch {name}" in done.stderr
    assert f"stopped at 2 questions. Answer them with `ohw resume {session_here(far).id}`" in done.stderr
    wait_for(lambda: not far.user.processes(), "nothing of the session to run there")


def test_what_a_server_asks_in_a_call_is_refused_because_no_user_is_there(far: FarMachine):
    fake = fake_server(far.user.home)
    lines = [f"{name} = {toml(value) if name == 'command' else json.dumps(value)}" for name, value in fake.items()]
    far.user.locations.config.mkdir(parents=True)
    far.user.locations.settings_file.write_text("\n".join(["[mcpServers.fake]", *lines]))
    calls = [{"tool": "echo", "risk": "LOW", "arguments": {"text": kind}} for kind in ("form", "sample")]
    model = far.user.script(*calls, finish("All done."))
    done = far.near.ohw("run", "go", far.url, "--model", model, "--mode", "high")
    assert (done.returncode, done.stdout) == (0, "All done.\n"), done.stderr
    assert done.stderr.count("the MCP server fake asked something, and no user is there to answer: refused") >= 2


@pytest.mark.parametrize(
    ("turns", "flags", "code", "line"),
    [
        ([bash("true"), bash("pwd"), finish()], ["--max-steps", "1"], 4, "limit"),
        ([bash("echo again")] * 9, [], 1, "stuck: execute_bash (echo again)"),
    ],
)
def test_the_exit_code_says_how_the_run_ended(
    far: FarMachine, turns: list[dict], flags: list[str], code: int, line: str
):
    done = far.near.ohw("run", "go", far.url, "--model", far.user.script(*turns), "--mode", "never", *flags)
    assert done.returncode == code, done.stderr
    assert line in done.stderr
    assert lines_here(far) == lines_there(far)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_stops_the_agent_there_and_saves_everything(far: FarMachine, number: int, code: int):
    model = far.user.script(bash("touch begun; (setsid sleep 777 &); sleep 888"))
    process = far.near.start("run", "wait", far.url, "--model", model, "--mode", "never")
    wait_for((far.user.project / "begun").exists, "the command to run")
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == code, err
    assert "Traceback" not in err
    assert session_there(far).ended == "interrupted"
    assert lines_here(far) == lines_there(far)
    wait_for(lambda: not far.user.processes(), "every process to be gone")


def test_ctrl_c_in_a_terminal_stops_the_agent_over_the_same_connection(far: FarMachine):
    model = far.user.script(bash("touch begun; sleep 888"))
    with opened(far, "run", "wait", far.url, "--model", model, "--mode", "never") as terminal:
        wait_for((far.user.project / "begun").exists, "the command to run")
        terminal.press("ctrl+c")
        assert terminal.wait_exit() == 130
        shown = terminal.text()
    assert "interrupted" in shown
    assert "Connection to far lost" not in shown
    assert session_there(far).ended == "interrupted"
    assert lines_here(far) == lines_there(far)
    wait_for(lambda: not far.user.processes(), "every process to be gone")


def test_a_reader_that_has_gone_stops_the_agent_there(far: FarMachine):
    model = far.user.script(bash("sleep 0.2; touch begun"), bash("sleep 888"))
    process = far.near.start("run", "go on", far.url, "--model", model, "--mode", "never", "--json")
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    err = process.stderr.read()
    process.wait(60)
    process.stderr.close()
    assert process.returncode == 141, err
    assert "Traceback" not in err
    wait_for(lambda: not far.user.processes(), "every process to be gone")


def test_an_engine_that_was_killed_ends_the_run_and_says_how_to_continue(far: FarMachine):
    model = far.user.script(bash("touch begun; sleep 888"))
    process = far.near.start("run", "wait", far.url, "--model", model, "--mode", "never")
    wait_for((far.user.project / "begun").exists, "the command to run")
    far.user.engine().kill()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1, err
    assert "The agent process on far stopped" in err
    assert f"resume with: ohw resume {session_here(far).id}" in err


def test_a_cut_link_loses_no_event_and_brings_none_twice(far: FarMachine):
    model = far.user.script(bash("touch begun; while [ ! -e go ]; do sleep 0.05; done"), finish("All done."))
    process = far.near.start("run", "wait", far.url, "--model", model, "--mode", "never", "--json")
    assert process.stderr is not None
    wait_for((far.user.project / "begun").exists, "the command to run")
    (engine,) = far.user.engines()
    far.link.cut()
    while "Connection to far lost, reconnecting" not in (line := process.stderr.readline()):
        assert line, "the run has ended"
    (far.user.project / "go").touch()
    wait_for(lambda: session_there(far).ended == "finished", "the run to end there")
    assert far.user.engine().pid == engine.pid
    far.link.restore()
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "Connected to far again" in err
    events = [json.loads(line) for line in out.splitlines()]
    assert events == [json.loads(encode(event)) for event in events_there(far)]
    assert lines_here(far) == lines_there(far)
