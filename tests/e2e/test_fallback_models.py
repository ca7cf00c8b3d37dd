"""Fallback models in the real program: `ohw run`, plain mode, the screen, exports, sub-agents and the Python API."""

from __future__ import annotations

import json

import pytest

from tests.fakes.anthropic_server import AnthropicServer
from tests.fakes.model_server import ModelServer
from tests.fakes.model_turns import Called, Fault, Turn, bash, finish
from tests.sandbox import Sandbox
from tests.terminal.terminal import Terminal
from workbench import Agent
from workbench.protocol.events import ModelResponded
from workbench.session.storage.session_list import list_sessions

BUSY = Fault(503, headers={"retry-after-ms": "1"})
STATUS = "one is overloaded; asking two"
NOTICE = "one is overloaded: two is asked instead"


def write_models(sandbox: Sandbox, one: ModelServer, two: ModelServer | AnthropicServer, mode: str = "never") -> None:
    file = sandbox.locations.settings_file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(
        f'model = "one"\nmode = "{mode}"\n'
        f'[models.one]\nmodel = "openai/first"\napi_base = "{one.base_url}"\nfallback_models = ["two"]\n'
        f'[models.two]\nmodel = "openai/second"\napi_base = "{two.base_url}"\nprice = {{ input = 1, output = 1 }}\n'
    )


def test_a_run_goes_on_with_the_fallback_model_and_says_so(sandbox: Sandbox):
    turns = [bash("echo from the fallback"), finish("Done by two.")]
    with ModelServer([BUSY] * 6) as one, ModelServer(turns) as two:
        write_models(sandbox, one, two)
        done = sandbox.ohw("run", "go", "--json")
        assert [len(server.requests) for server in (one, two)] == [6, 2]
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(STATUS) == 2
    assert done.stderr.count(NOTICE) == 1
    events = [json.loads(line) for line in done.stdout.splitlines()]
    responses = [event for event in events if event["kind"] == "model_responded"]
    assert [each["fallback"] for each in responses] == ["two", "two"]
    assert [each["cost"] for each in responses] == [pytest.approx(120e-6)] * 2
    assert "from the fallback" in done.stdout
    (session,) = list_sessions(sandbox.locations)
    assert sandbox.command("export", session.id).stdout.count(f"*{NOTICE}*") == 1


def test_a_run_in_which_no_model_answers_names_them_all(sandbox: Sandbox):
    with ModelServer([BUSY] * 5) as one, ModelServer([Fault(401, "wrong key")]) as two:
        write_models(sandbox, one, two)
        done = sandbox.ohw("run", "go")
    assert done.returncode == 1
    assert "error: no model answered. one: " in done.stderr
    assert " · two: " in done.stderr
    assert "rejected the API key" in done.stderr


def test_the_screen_and_plain_mode_show_the_fallback_model(sandbox: Sandbox):
    with ModelServer([BUSY] * 5) as one, ModelServer([Turn("Answer of two.")]) as two:
        write_models(sandbox, one, two, mode="medium")
        with Terminal(["hello", "--workspace", str(sandbox.project)], 110, 34, sandbox.env) as terminal:
            terminal.wait_for("Answer of two.")
            terminal.wait_for(NOTICE)
            terminal.press("ctrl+q")
            assert terminal.wait_exit() == 0
    (session,) = list_sessions(sandbox.locations)
    with Terminal(["resume", session.id, "--plain"], 110, 34, sandbox.env) as terminal:
        terminal.wait_for(f"{NOTICE}.")


def test_a_sub_agent_has_the_fallback_models_of_its_parent(sandbox: Sandbox):
    task = {"agent": "scout", "inputs": "Look around.", "security_risk": "LOW", "summary": "Look"}
    first = Turn(calls=(Called("delegate", task),))
    with ModelServer([first] + [BUSY] * 6) as one, ModelServer([finish("Seen."), finish("Done.")]) as two:
        write_models(sandbox, one, two)
        done = sandbox.ohw("run", "go", "--json")
        assert [len(server.requests) for server in (one, two)] == [7, 2]
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(NOTICE) == 1
    events = [json.loads(line) for line in done.stdout.splitlines()]
    steps = [event["event"] for event in events if event["kind"] == "delegate_step"]
    assert [step["fallback"] for step in steps if step["kind"] == "model_responded"] == ["two"]


def test_an_agent_of_a_program_has_fallback_models(local_sandbox: Sandbox):
    events: list[object] = []
    with ModelServer([BUSY] * 5) as one, ModelServer([Turn("Answer of two.")]) as two:
        write_models(local_sandbox, one, two)
        with Agent("one", ["think"], workspace=local_sandbox.project, on_event=events.append) as agent:
            result = agent.run_sync("hello")
    assert result.text == "Answer of two."
    assert [event.fallback for event in events if isinstance(event, ModelResponded)] == ["two"]


def test_an_agent_of_a_program_brings_its_own_models(local_sandbox: Sandbox):
    with ModelServer([Fault(402)]) as one, ModelServer([Turn("Answer of two.")]) as two:
        first = {"model": "openai/first", "api_base": one.base_url, "fallback_models": ["two"]}
        models = {"one": first, "two": {"model": "openai/second", "api_base": two.base_url}}
        with Agent("one", ["think"], workspace=local_sandbox.project, models=models) as agent:
            assert agent.run_sync("hello").text == "Answer of two."


def test_models_are_listed_with_their_fallback_models(sandbox: Sandbox):
    with ModelServer() as one, ModelServer() as two:
        write_models(sandbox, one, two)
        assert f"● one  openai/first at {one.base_url}  (else two)\n" in sandbox.command("models").stdout


def test_a_test_of_a_model_asks_no_other(sandbox: Sandbox):
    with ModelServer([BUSY] * 5) as one, ModelServer([Turn("not asked")]) as two:
        write_models(sandbox, one, two)
        done = sandbox.command("models", "test", "one")
        assert two.requests == []
    assert done.returncode == 1
    assert "is failing (HTTP 503)" in done.stderr


def test_a_conversation_too_large_for_the_fallback_model_is_condensed(sandbox: Sandbox):
    turns = [Turn(f"Step {number}.", calls=bash(f"echo {number}").calls) for number in range(8)]
    full = Fault(400, "maximum context length exceeded", "context_length_exceeded")
    with (
        ModelServer([*turns, BUSY], repeat_last=True) as one,
        ModelServer([full, Turn("GOAL: count."), finish("Counted.")]) as two,
    ):
        write_models(sandbox, one, two)
        done = sandbox.ohw("run", "go", "--json")
        assert [len(server.requests) for server in (one, two)] == [8 + 5 + 1 + 1, 3]
    assert (done.returncode, done.stderr.count("compacted events")) == (0, 1), done.stderr
    assert "GOAL: count." in json.dumps(two.requests[2].body)


def test_a_fallback_model_gets_its_reasoning_back_and_no_other_does(sandbox: Sandbox):
    with ModelServer([Fault(402)], repeat_last=True) as one, AnthropicServer(thinks="first") as two:
        write_models(sandbox, one, two)
        file = sandbox.locations.settings_file
        file.write_text(file.read_text().replace("openai/second", "anthropic/claude-x") + 'api_key_env = "TWO_KEY"\n')
        done = sandbox.ohw("run", "go", "--max-steps", "2", TWO_KEY="sk-of-the-second")
    assert done.returncode == 4, done.stderr
    assert done.stderr.count("one has no credit left: two is asked instead") == 1
    sent = two.requests[1].messages[1]["content"]
    assert [block["type"] for block in sent if "thinking" in block["type"]] == ["thinking", "redacted_thinking"]
    for server in (one, two):
        assert "signed_by" not in json.dumps([request.body for request in server.requests])
    assert "thinking" not in json.dumps(one.requests[1].body)
