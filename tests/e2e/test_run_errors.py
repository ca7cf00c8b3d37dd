"""Errors of a model or a directory in `ohw run`: one line says what to do, and nothing is lost."""

from subprocess import CompletedProcess

from tests.fakes.model_server import ModelServer
from tests.fakes.model_turns import Called, Fault, Turn, bash, finish
from tests.sandbox import Sandbox
from workbench.protocol.events import (
    ActionObserved,
    Event,
    HistoryCondensed,
    ModelResponded,
    RunEnded,
    UserMessage,
    VersionTaken,
)
from workbench.session.session_names import session_path
from workbench.session.storage.session_list import list_sessions
from workbench.session.storage.store import Store

KEY = "sk-of-the-test"


def run(sandbox: Sandbox, server: ModelServer, prompt: str = "hello") -> CompletedProcess[str]:
    return sandbox.agent("run", prompt, "--model", "openai/x", "--api-base", server.base_url, "--mode", "never")


def recorded(sandbox: Sandbox) -> list[Event]:
    (session,) = list_sessions(sandbox.locations)
    with Store.open(session_path(sandbox.locations, session.id), readonly=True) as store:
        return list(store.events())


def last_line(sandbox: Sandbox, done: CompletedProcess[str]) -> str:
    """Return the last line of a failed run; check that the session holds it and the user's message."""
    assert "Traceback" not in done.stderr
    events = recorded(sandbox)
    assert [event.text for event in events if isinstance(event, UserMessage)] == ["hello"]
    # The version at the end of the run is recorded by another thread, maybe after it.
    end = next(event for event in reversed(events) if not isinstance(event, VersionTaken))
    assert isinstance(end, RunEnded)
    *_, message, how_to_go_on = done.stderr.splitlines()
    assert message == f"{end.reason}: {end.detail}"
    assert how_to_go_on.startswith("resume with: ohw resume ")
    return message


def test_persistent_server_failure_ends_the_run_with_its_message(sandbox: Sandbox):
    with ModelServer([Fault(500, "the engine is on fire", headers={"retry-after": "0"})], repeat_last=True) as server:
        done = run(sandbox, server)
    assert done.returncode == 1
    line = last_line(sandbox, done)
    assert line.startswith("error: ")
    assert "HTTP 500" in line
    assert "the engine is on fire" in line
    assert "send the message again later" in line
    assert len(server.requests) == 5


def test_single_server_failure_costs_only_a_wait(sandbox: Sandbox):
    turns = [Fault(503), bash("touch made-it"), Fault(429, headers={"retry-after": "1"}), finish("Made it.")]
    with ModelServer(turns) as server:
        done = run(sandbox, server)
    assert (done.returncode, done.stdout) == (0, "Made it.\n")
    assert (sandbox.project / "made-it").exists()
    assert "provider busy (HTTP 503); try 2 of 5" in done.stderr
    assert "rate limited; try 2 of 5 in 1s" in done.stderr
    assert len([event for event in recorded(sandbox) if isinstance(event, ModelResponded)]) == 2


def test_rate_limit_of_an_hour_is_reported_and_not_awaited(sandbox: Sandbox):
    with ModelServer([Fault(429, "slow down", headers={"retry-after": "3600"})]) as server:
        done = run(sandbox, server)
    assert done.returncode == 1
    assert "try again in 3600 s" in last_line(sandbox, done)


def test_dollar_limit_pauses_the_run(sandbox: Sandbox):
    file = sandbox.locations.settings_file
    file.parent.mkdir(parents=True)
    steps = [bash("echo one"), bash("echo two"), bash("echo three"), finish("Worth it.")]  # 100 tokens in, 20 out
    with ModelServer(steps) as server:
        price = "price = { input = 1000, output = 5000 }"
        file.write_text(f'[models.dear]\nmodel = "openai/x"\napi_base = "{server.base_url}"\n{price}\n')
        done = sandbox.agent("run", "hello", "--model", "dear", "--mode", "never", "--max-cost", "0.35")
        assert done.returncode != 0
        assert "paused after $0.40 (max_cost $0.35). Send a message to continue" in last_line(sandbox, done)
        assert len(server.requests) == 2


def test_wrong_key_is_in_no_file_and_on_no_stream(sandbox: Sandbox):
    with ModelServer([Fault(401, f"Incorrect API key provided: {KEY}")]) as server:
        done = run(sandbox, server)
    assert done.returncode == 1
    line = last_line(sandbox, done)
    assert "rejected the API key" in line
    assert "OPENAI_API_KEY" in line
    assert KEY not in done.stderr + done.stdout
    files = [path for path in sandbox.home.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if KEY.encode() in path.read_bytes()]


def test_interrupted_stream_keeps_its_text_and_runs_no_partial_call(sandbox: Sandbox):
    call = Called("execute_bash", {"security_risk": "LOW", "summary": "Make a file", "command": "touch half"})
    with ModelServer([Turn("I make a file.", calls=(call,), cut_after=5)]) as server:
        done = run(sandbox, server)
    assert done.returncode == 1
    assert "broke off" in last_line(sandbox, done)
    assert not (sandbox.project / "half").exists()
    (answer,) = (event for event in recorded(sandbox) if isinstance(event, ModelResponded))
    assert (answer.text, answer.incomplete, answer.tool_calls) == ("I make a file.", True, ())


def test_full_context_window_is_condensed_once_and_the_run_continues(sandbox: Sandbox):
    full = Fault(400, "This model's maximum context length is 8192 tokens.", "context_length_exceeded")
    steps = [bash(f"echo step-{number}") for number in range(8)]
    summary = Turn("GOAL\nsay hello\nDONE\nsome steps")
    with ModelServer([*steps, full, summary, finish("It fits now.")]) as server:
        done = run(sandbox, server)
    assert (done.returncode, done.stdout) == (0, "It fits now.\n")
    assert "compacted events" in done.stderr
    *_, too_long, asked, last = (request.body for request in server.requests)
    assert "step-2" in str(asked["messages"])
    assert "tools" not in asked
    assert len(last["messages"]) < len(too_long["messages"])
    assert last["messages"][:6] == too_long["messages"][:6]
    assert last["messages"][-6:] == too_long["messages"][-6:]
    assert summary.text in str(last["messages"][6]["content"])
    (condensed,) = (event for event in recorded(sandbox) if isinstance(event, HistoryCondensed))
    assert (condensed.reason, condensed.summary) == ("overflow", summary.text)
    assert "step-2" in str([event for event in recorded(sandbox) if isinstance(event, ActionObserved)])


def test_window_that_stays_full_is_reported_and_nothing_is_lost(sandbox: Sandbox):
    full = Fault(400, "This model's maximum context length is 8192 tokens.", "context_length_exceeded")
    steps = [bash(f"echo step-{number}") for number in range(8)]
    with ModelServer([*steps, full, Turn("GOAL\nsay hello"), full]) as server:
        done = run(sandbox, server)
    assert done.returncode == 1
    assert "choose a model with a larger window" in last_line(sandbox, done)
    assert len([event for event in recorded(sandbox) if isinstance(event, ActionObserved)]) == 8


def test_web_page_instead_of_an_answer_points_to_the_url(sandbox: Sandbox):
    with ModelServer([Fault(200, headers={"content-type": "text/html"})]) as server:
        done = run(sandbox, server)
    assert done.returncode == 1
    assert "check the URL" in last_line(sandbox, done)


def test_unreachable_server_is_named(sandbox: Sandbox):
    done = sandbox.ohw("run", "hello", "--model", "openai/x", "--api-base", "http://127.0.0.1:9/v1")
    assert done.returncode == 1
    assert "nothing is listening at http://127.0.0.1:9/v1: start the server or fix the URL" in last_line(sandbox, done)


def test_unknown_provider_error_explains_model_names(sandbox: Sandbox):
    done = sandbox.ohw("run", "hello", OHW_MODEL="nobody/x")
    assert done.returncode == 1
    assert "write it as PROVIDER/NAME" in done.stderr
    assert list_sessions(sandbox.locations) == []


def test_unreadable_calls_get_errors_and_the_session_continues(sandbox: Sandbox):
    calls = (Called("execute_bash", "{'command': 'touch broken'}"), Called("rm -rf", {}), Called("think", "[1]"))
    with ModelServer([Turn(calls=calls), finish("I give up.")]) as server:
        done = run(sandbox, server)
    assert (done.returncode, done.stdout) == (0, "I give up.\n")
    assert "Traceback" not in done.stderr
    assert not (sandbox.project / "broken").exists()
    results = [event for event in recorded(sandbox) if isinstance(event, ActionObserved)]
    assert [(event.observation["is_error"], event.ran) for event in results[:3]] == [(True, False)] * 3


def test_unwritable_directory_is_refused_before_a_session_is_created(sandbox: Sandbox):
    # Not even root can write there.
    done = sandbox.ohw("run", "hello", "--model", "scripted/demo", "--workspace", "/proc")
    assert (done.returncode, done.stdout) == (2, "")
    assert "the directory /proc cannot be written" in done.stderr
    assert "--workspace" in done.stderr
    assert done.stderr.count("\n") == 1
    assert list_sessions(sandbox.locations) == []
