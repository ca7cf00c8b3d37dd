"""`ohw run` as a user or a script starts it: the real binary against a real server."""

import json
import signal
import subprocess
from pathlib import Path

import pytest

from tests.fakes.model_server import ModelServer
from tests.fakes.model_turns import Called, Fault, Turn
from tests.fakes.model_turns import bash as bash_turn
from tests.fakes.model_turns import finish as finish_turn
from tests.sandbox import Sandbox, bash, finish, wait_for
from workbench.protocol.codec import encode
from workbench.session.session_names import session_path
from workbench.session.storage.lock import SessionInUse, SessionLock
from workbench.session.storage.session_list import list_sessions
from workbench.session.storage.store import Store


def with_server(server: ModelServer, *more: str) -> tuple[str, ...]:
    return ("--model", "openai/x", "--api-base", server.base_url, *more)


def git_project(directory: Path) -> None:
    (directory / "calc.py").write_text("def add(a, b):\n    return a - b\n")
    (directory / "check.py").write_text("from calc import add\nassert add(2, 3) == 5\nprint('all good')\n")
    subprocess.run(["git", "init", "-q"], cwd=directory, check=True)
    subprocess.run(["git", "add", "."], cwd=directory, check=True)


@pytest.mark.parametrize("prompt", ["/exit", " /exit\n"])
def test_exit_as_the_prompt_starts_nothing(sandbox: Sandbox, prompt: str):
    with ModelServer([Turn("never asked")]) as server:
        done = sandbox.ohw("run", "-", *with_server(server, "--json"), stdin=prompt)
        assert server.requests == []
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "ohw: /exit ends a run; none was started\n"
    assert list_sessions(sandbox.locations) == []


def test_run_edits_a_repository_runs_its_tests_and_is_listed(sandbox: Sandbox):
    git_project(sandbox.project)
    path = sandbox.project / "calc.py"
    edit = {"command": "str_replace", "path": str(path), "old_str": "a - b", "new_str": "a + b"}
    turns = [
        Turn("I see it.", calls=(Called("str_replace_editor", {"security_risk": "LOW", "summary": "Fix", **edit}),)),
        bash_turn("python3 check.py; echo key=$OPENAI_API_KEY=", risk="HIGH"),
        finish_turn("Fixed add."),
    ]
    with ModelServer(turns) as server:
        done = sandbox.ohw("run", "fix add", *with_server(server, "--mode", "never", "--json"))
        last_request = server.requests[-1].messages
    assert done.returncode == 0, done.stderr
    assert path.read_text() == "def add(a, b):\n    return a + b\n"
    events = [json.loads(line) for line in done.stdout.splitlines()]
    outputs = json.dumps([event["observation"] for event in events if event["kind"] == "action_observed"])
    assert "all good" in outputs
    assert "key==" in outputs  # the key does not reach the agent's commands
    assert "all good" in json.dumps(last_request)
    (listed,) = list_sessions(sandbox.locations)
    with Store.open(session_path(sandbox.locations, listed.id), readonly=True) as store:
        assert [json.loads(encode(event)) for event in store.events()] == events
    assert (listed.ended, listed.title, listed.workspace) == ("finished", "fix add", str(sandbox.project))
    table = sandbox.ohw("sessions")
    assert listed.id in table.stdout
    assert "fix add" in table.stdout
    assert f"ohw resume {listed.id}" in done.stderr


def test_question_stops_the_run_with_code_3_and_nothing_runs(sandbox: Sandbox):
    model = sandbox.script(bash("touch made-it", risk="HIGH"))
    done = sandbox.ohw("run", "-", "--model", model, stdin="make a file\n")
    assert done.returncode == 3, done.stderr
    assert not (sandbox.project / "made-it").exists()
    assert "ohw resume" in done.stderr
    assert list_sessions(sandbox.locations)[0].title == "make a file"


def test_step_limit_exits_with_code_4(sandbox: Sandbox):
    model = sandbox.script(bash("true"), bash("true"), finish())
    done = sandbox.agent("run", "go on", "--model", model, "--mode", "never", "--max-steps", "1")
    assert done.returncode == 4, done.stderr


def test_token_limit_exits_with_code_4_and_says_how_to_continue(sandbox: Sandbox):
    model = sandbox.script(bash("true"), bash("pwd"), finish())
    done = sandbox.agent("run", "go on", "--model", model, "--mode", "never", "--token-limit", "1")
    assert done.returncode == 4, done.stderr
    assert "token_limit 1" in done.stderr
    assert "Send a message to continue" in done.stderr
    assert "ohw resume" in done.stderr


def test_looping_agent_is_stopped_with_the_repeated_action(sandbox: Sandbox):
    model = sandbox.script(*[bash("echo again")] * 9)
    done = sandbox.agent("run", "go on", "--model", model, "--mode", "never")
    assert done.returncode == 1, done.stderr
    assert "notified the agent: execute_bash (echo again) gave the same result 4 times" in done.stderr
    assert "stuck: execute_bash (echo again) gave the same result 4 times" in done.stderr


def test_run_without_tools_refuses_calls_and_limits_what_the_model_sees(sandbox: Sandbox):
    turns = [bash_turn("touch made-it"), Turn("I only say so.")]
    with ModelServer(turns) as server:
        done = sandbox.agent("run", "go", *with_server(server, "--mode", "never", "--tool-choice", "none"))
        asked = [request.body["tool_choice"] for request in server.requests]
    assert (done.returncode, asked) == (0, ["none", "none"]), done.stderr
    assert "tool_choice is none" in done.stderr
    assert not (sandbox.project / "made-it").exists()
    with ModelServer([bash_turn("seq 5000"), Turn("Many.")]) as server:
        done = sandbox.agent("run", "go", *with_server(server, "--mode", "never", "--max-observe", "500"))
        seen = server.requests[-1].messages[-1]["content"]
    assert done.returncode == 0, done.stderr
    assert len(seen) < 700
    assert "lines omitted" in seen


def test_wrong_key_is_one_line_that_does_not_show_it(sandbox: Sandbox):
    with ModelServer([Fault(401, "Incorrect API key provided: sk-of-the-test")], repeat_last=True) as server:
        done = sandbox.agent("run", "hello", *with_server(server))
    assert done.returncode == 1
    assert "key" in done.stderr
    assert "Traceback" not in done.stderr
    assert "sk-of-the-test" not in done.stderr + done.stdout


def test_invalid_arguments_and_unknown_tools_are_reported_to_the_model(sandbox: Sandbox):
    turns = [
        Turn(calls=(Called("execute_bash", '{"command": "touch broken", '),)),
        Turn(calls=(Called("launch_rocket", {"where": "up"}),)),
        finish_turn("I give up."),
    ]
    with ModelServer(turns) as server:
        done = sandbox.ohw("run", "hello", *with_server(server, "--mode", "never"))
        messages = json.dumps(server.requests[-1].messages)
    assert done.returncode == 0, done.stderr
    assert not (sandbox.project / "broken").exists()
    assert "execute_bash" in messages
    assert "launch_rocket" in messages


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signal_stops_the_run_saves_everything_and_leaves_no_process(sandbox: Sandbox, number: int, code: int):
    model = sandbox.script(bash("touch begun; (setsid sleep 777 &); sleep 888"))
    process = sandbox.start("run", "wait", "--model", model, "--mode", "never")
    wait_for((sandbox.project / "begun").exists, "the command to run")
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == code, err
    assert "Traceback" not in err
    # Ctrl+C is the user's.
    assert ("interrupted: the run was ended by SIGTERM" in err) == (number == signal.SIGTERM)
    assert list_sessions(sandbox.locations)[0].ended == "interrupted"
    wait_for(lambda: not sandbox.processes(), "every process to be gone")


def test_closed_pipe_stops_the_run_without_a_traceback(sandbox: Sandbox):
    model = sandbox.script(bash("sleep 0.2; touch begun"), bash("sleep 888"))
    process = sandbox.start("run", "go on", "--model", model, "--mode", "never", "--json")
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    err = process.stderr.read()
    process.wait(60)
    process.stderr.close()
    assert process.returncode == 141
    assert "Traceback" not in err


def test_killed_process_releases_its_session(sandbox: Sandbox):
    process = sandbox.start("run", "wait", "--model", sandbox.script(bash("touch begun; sleep 888")), "--mode", "never")
    wait_for((sandbox.project / "begun").exists, "the command to run")
    path = session_path(sandbox.locations, list_sessions(sandbox.locations)[0].id)
    with pytest.raises(SessionInUse, match=f"process {process.pid}"):
        SessionLock.acquire(path)
    process.kill()
    process.communicate(timeout=60)
    SessionLock.acquire(path, 20).release()
    wait_for(lambda: not sandbox.processes(), "every process to be gone")
    assert list_sessions(sandbox.locations)[0].ended == ""


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("run", "hello"), "no model is set"),
        (("run", "hello", "--model", "scripted/demo", "--workspace", "missing"), "does not exist"),
        (("run", "hello", "--model", "scripted/demo", "--workspace", "file"), "is not a directory"),
        (("run", "", "--model", "scripted/demo"), "PROMPT"),
        (("run", "hello", "--model", "scripted/demo", "--mode", "wild"), "not 'wild'"),
        (("hello",), "not a terminal"),
    ],
)
def test_invalid_usage_is_one_line_and_code_2(sandbox: Sandbox, args: tuple[str, ...], message: str):
    (sandbox.project / "file").write_text("")
    done = sandbox.ohw(*args)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("ohw: ")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_refused_connection_says_what_to_do(sandbox: Sandbox):
    done = sandbox.ohw("run", "hello", "--model", "openai/x", "--api-base", "http://127.0.0.1:9/v1")
    assert done.returncode == 1
    assert "127.0.0.1:9" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("calls", ["native", "text"])
def test_native_and_text_calls_lead_to_the_same_result(sandbox: Sandbox, calls: str):
    arguments = {
        "security_risk": "LOW",
        "command": "create",
        "path": str(sandbox.project / "a.txt"),
        "file_text": "one\n two </parameter>\n",
    }
    as_text = "\n".join(f"<parameter={name}>{value}</parameter>" for name, value in arguments.items())
    turns = {
        "native": [Turn("I write.", calls=(Called("str_replace_editor", arguments),)), finish_turn("Written.")],
        "text": [
            Turn(f"I write.\n\n<function=str_replace_editor>\n{as_text}\n"),
            Turn("<function=finish>\n<parameter=message>Written.</parameter>\n"),
        ],
    }[calls]
    with ModelServer(turns) as server:
        done = sandbox.agent("run", "write", *with_server(server, "--mode", "never"), OHW_CALLS=calls)
        bodies = [request.body for request in server.requests]
    assert (done.returncode, done.stdout) == (0, "Written.\n"), done.stderr
    assert (sandbox.project / "a.txt").read_text() == arguments["file_text"].removesuffix(
        "\n" if calls == "text" else ""
    )
    assert all(("tools" in body) == (calls == "native") for body in bodies)
    assert all(("stop" in body) == (calls == "text") for body in bodies)
    assert "<function" not in done.stderr


def test_final_message_of_several_lines_is_the_whole_answer(sandbox: Sandbox):
    message = "Fixed it:\n\n- one\n- " + "two " * 100
    with ModelServer([finish_turn(message)]) as server:
        done = sandbox.agent("run", "go", *with_server(server))
    assert (done.returncode, done.stdout) == (0, f"{message.strip()}\n")
    assert done.stderr.count("Fixed it:") == 1


def test_plan_mode_reads_files_and_changes_none(sandbox: Sandbox):
    path = sandbox.project / "a.txt"
    path.write_text("the first line\n")
    view = {"security_risk": "LOW", "summary": "Look", "command": "view", "path": str(path)}
    edit = {**view, "command": "create", "path": str(sandbox.project / "b.txt"), "file_text": "x"}
    calls = (Called("str_replace_editor", view), Called("str_replace_editor", edit))
    with ModelServer([Turn("", calls=calls), Turn("I would add b.txt.")]) as server:
        done = sandbox.agent("run", "plan it", *with_server(server, "--mode", "plan"))
        results = [message["content"] for message in server.requests[-1].messages if message["role"] == "tool"]
    assert (done.returncode, done.stdout) == (0, "I would add b.txt.\n"), done.stderr
    assert "the first line" in results[0]
    assert "in plan mode only calls that change nothing" in results[1]
    assert not (sandbox.project / "b.txt").exists()


def test_edit_that_must_fail_is_not_asked_about(sandbox: Sandbox):
    path = sandbox.project / "a.txt"
    path.write_text("one\n")
    edit = {"security_risk": "HIGH", "command": "str_replace", "path": str(path), "old_str": "two", "new_str": "three"}
    turns = [Turn("", calls=(Called("str_replace_editor", edit),)), finish_turn("It is not there.")]
    with ModelServer(turns) as server:
        done = sandbox.agent("run", "edit", *with_server(server, "--mode", "ask"))
        (result,) = [message["content"] for message in server.requests[-1].messages if message["role"] == "tool"]
    assert done.returncode == 0, done.stderr  # 3 would mean a question
    assert "No match" in result or "not found" in result or "does not" in result, result
    assert path.read_text() == "one\n"


def test_protected_path_stops_a_never_ask_run_with_the_reason(sandbox: Sandbox):
    path = sandbox.project / ".vscode" / "tasks.json"
    edit = {"command": "create", "path": str(path), "file_text": "{}", "security_risk": "LOW", "summary": "Add tasks"}
    with ModelServer([Turn("", calls=(Called("str_replace_editor", edit),)), finish_turn("Done.")]) as server:
        done = sandbox.agent("run", "add tasks", *with_server(server, "--mode", "never"))
    assert done.returncode == 3, done.stderr
    assert not path.exists()
    assert "tasks.json is protected, and no allow rule names it" in done.stderr
    assert "changes what the editor runs" in done.stderr
    assert "may str_replace_editor run? Answer it with `ohw resume" in done.stderr
