"""Editors that break the protocol: they get a clear error, and what they send decides nothing."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import pytest

from tests.acp.editor import PATIENCE, served
from tests.acp.test_prompts import decided
from tests.sandbox import Sandbox, bash, finish
from tests.tools.shells import eventually


class Wire:
    """The lines to and from the agent, as an editor without a library writes them."""

    def __init__(self, to_agent: IO[str], from_agent: IO[str]) -> None:
        self.to_agent = to_agent
        self.from_agent = from_agent
        self.ids = 0

    def write(self, message: Any) -> None:
        line = message if isinstance(message, str) else json.dumps(message)
        self.to_agent.write(line + "\n")
        self.to_agent.flush()

    def request(self, method: str, params: Any) -> int:
        self.ids += 1
        self.write({"jsonrpc": "2.0", "id": self.ids, "method": method, "params": params})
        return self.ids

    def answer(self, request: dict, outcome: Any) -> None:
        self.write({"jsonrpc": "2.0", "id": request["id"], "result": {"outcome": outcome}})

    def until(self, is_it) -> dict:
        """Return the first message from now on for which `is_it` is true."""
        for line in self.from_agent:
            message = json.loads(line)
            if is_it(message):
                return message
        raise AssertionError("the agent closed its output")

    def result(self, request: int) -> dict:
        """Wait for the answer to a request."""
        return self.until(lambda message: message.get("id") == request and "method" not in message)

    def call(self, method: str, params: Any) -> dict:
        """Send a request and return its answer."""
        return self.result(self.request(method, params))

    def session(self, sandbox: Sandbox) -> str:
        answer = self.call("session/new", {"cwd": str(sandbox.project), "mcpServers": []})
        return answer["result"]["sessionId"]

    def prompt(self, session: str, text: str = "go") -> int:
        return self.request("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": text}]})

    def question(self) -> dict:
        return self.until(lambda message: message.get("method") == "session/request_permission")


@contextmanager
def wire(sandbox: Sandbox, *turns: dict) -> Iterator[Wire]:
    with served(sandbox, "--model", sandbox.script(*turns), "--mode", "ask") as connection:
        connection.settimeout(PATIENCE)
        with connection.makefile("w") as to_agent, connection.makefile("r") as from_agent:
            line = Wire(to_agent, from_agent)
            assert line.call("initialize", {"protocolVersion": 1})["result"]["protocolVersion"] == 1
            yield line


def once(question: dict) -> dict:
    """Return the answer that allows once."""
    return {"outcome": "selected", "optionId": question["params"]["options"][0]["optionId"]}


def test_second_answer_to_a_question_is_ignored(sandbox: Sandbox):
    with wire(sandbox, bash("touch one", "HIGH"), bash("touch two", "HIGH"), finish()) as line:
        prompt = line.prompt(line.session(sandbox))
        first = line.question()
        reject = {"outcome": "selected", "optionId": first["params"]["options"][-2]["optionId"]}
        line.answer(first, reject)
        line.answer(first, once(first))
        second = line.question()
        line.answer(second, once(second))
        assert line.result(prompt)["result"] == {"stopReason": "end_turn"}
    assert [each.verdict for each in decided(sandbox)] == ["rejected", "approved"]
    assert [(sandbox.project / name).exists() for name in ("one", "two")] == [False, True]


@pytest.mark.parametrize(
    "answer",
    [
        {"result": {"outcome": {"outcome": "allowed"}}},
        {"result": {}},
        {"result": "yes"},
        {"error": {"code": -32603, "message": "the window is gone"}},
        {},
    ],
    ids=["unknown outcome", "no outcome", "no object", "error", "nothing"],
)
def test_malformed_answer_leaves_the_question_open(sandbox: Sandbox, answer: dict):
    with wire(sandbox, bash("touch made", "HIGH"), finish()) as line:
        session = line.session(sandbox)
        prompt = line.prompt(session)
        question = line.question()
        line.write({"jsonrpc": "2.0", "id": question["id"], **answer})
        assert line.result(prompt)["result"] == {"stopReason": "end_turn"}
        assert not (sandbox.project / "made").exists()
        prompt = line.prompt(session, "well?")
        question = line.question()
        line.answer(question, once(question))
        assert line.result(prompt)["result"] == {"stopReason": "end_turn"}
    assert [each.verdict for each in decided(sandbox)] == ["approved"]


def test_answer_to_a_question_that_was_not_asked_decides_nothing(sandbox: Sandbox):
    with wire(sandbox, bash("touch made", "HIGH"), finish()) as line:
        session = line.session(sandbox)
        for number in range(5):
            line.answer({"id": number}, {"outcome": "selected", "optionId": "3-once"})
        prompt = line.prompt(session)
        line.question()
        line.write({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}})
        assert line.result(prompt)["result"] == {"stopReason": "cancelled"}
    assert decided(sandbox) == []


def test_cancel_right_after_a_prompt_ends_it(sandbox: Sandbox):
    with wire(sandbox, bash("sleep 600"), finish()) as line:
        session = line.session(sandbox)
        prompt = line.prompt(session)
        line.write({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}})
        assert line.result(prompt)["result"] == {"stopReason": "cancelled"}


def test_nothing_is_asked_again_while_a_cancel_is_on_its_way(sandbox: Sandbox):
    with wire(sandbox, bash("touch made", "HIGH"), finish()) as line:
        session = line.session(sandbox)
        prompt = line.prompt(session)
        line.question()
        line.write({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}})
        for mode in ("medium", "ask", "medium", "ask"):
            line.request("session/set_mode", {"sessionId": session, "modeId": mode})
        last = line.until(lambda message: message.get("id") == prompt or "session/request_permission" in str(message))
        assert last.get("result") == {"stopReason": "cancelled"}


def test_rejecting_and_stopping_asks_nothing_more(sandbox: Sandbox):
    both = {"calls": [bash("touch one", "HIGH"), bash("touch two", "HIGH")]}
    with wire(sandbox, both, finish()) as line:
        prompt = line.prompt(line.session(sandbox))
        question = line.question()
        stop = next(each for each in question["params"]["options"] if each["optionId"].endswith("reject-and-stop"))
        line.answer(question, {"outcome": "selected", "optionId": stop["optionId"]})
        last = line.until(lambda message: message.get("id") == prompt or "session/request_permission" in str(message))
        assert last.get("result") == {"stopReason": "end_turn"}


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("session/nonsense", {}, -32601),
        ("session/prompt", {"sessionId": 7}, -32602),
        ("session/prompt", "go", -32602),
        ("session/new", {"cwd": 7}, -32602),
        ("session/new", {"cwd": "/", "additionalDirectories": ["/tmp"], "mcpServers": []}, -32602),
        ("session/set_mode", {"sessionId": "none", "modeId": "ask"}, -32602),
        ("session/close", {"sessionId": "none"}, -32602),
        ("authenticate", {"methodId": "none"}, -32602),
    ],
)
def test_invalid_request_is_an_error_and_the_next_one_is_served(sandbox: Sandbox, method, params, code: int):
    with wire(sandbox, finish()) as line:
        line.write("this is no JSON")
        assert line.call(method, params)["error"]["code"] == code
        assert line.result(line.prompt(line.session(sandbox)))["result"] == {"stopReason": "end_turn"}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signal_ends_the_process_and_leaves_the_run(sandbox: Sandbox, number: signal.Signals):
    model = sandbox.script(bash("touch made", "HIGH"), finish())
    with sandbox.start("acp", "--model", model, "--mode", "ask", stdin=subprocess.PIPE) as process:
        line = Wire(process.stdin, process.stdout)
        line.call("initialize", {"protocolVersion": 1})
        line.prompt(line.session(sandbox))
        line.question()
        process.send_signal(number)
        assert process.wait(30) == 128 + number
        assert process.stderr.read() == ""
    assert decided(sandbox) == []


@pytest.mark.parametrize("unread", [0, 400_000], ids=["nothing unread", "more unread than a pipe holds"])
def test_editor_that_goes_away_while_updates_are_sent_ends_the_program(sandbox: Sandbox, unread: int):
    answer = {"text": "x" * unread, **bash("touch made")}
    model = sandbox.script(bash("until test -e go; do sleep 0.01; done"), answer, bash("sleep 600"))
    with sandbox.start("acp", "--model", model, "--mode", "high", stdin=subprocess.PIPE) as process:
        line = Wire(process.stdin, process.stdout)
        line.call("initialize", {"protocolVersion": 1})
        line.prompt(line.session(sandbox))
        line.until(lambda message: "until test" in json.dumps(message))
        (sandbox.project / "go").touch()
        eventually(lambda: (sandbox.project / "made").exists(), "the run goes on")
        process.stdout.close()
        process.stdin.close()
        assert process.wait(30) == 0
        assert process.stderr.read() == ""
