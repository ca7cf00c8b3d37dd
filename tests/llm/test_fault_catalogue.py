"""The catalogue of model faults, a test a row: a real server, real sockets, the real session and model.

Each ends in a state from which the user can go on: one line names the fault, nothing has run twice, and the next
message reaches the model in a request that strict providers accept.
"""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.model_server import ModelServer
from tests.fakes.model_turns import Called, Fault, Turn
from tests.fakes.request_checks import openai_faults
from tests.llm.conftest import KEY, wait_until
from tests.session.fake_agent import Harness
from workbench.agent.agent import Agent
from workbench.llm.client import ProviderModel
from workbench.llm.errors import Fault as LimitedRate
from workbench.llm.errors import key_variable
from workbench.llm.retry import Patience, wait_before
from workbench.protocol.codec import encode
from workbench.protocol.events import ActionObserved, ActionStarted, ModelResponded, RunEnded
from workbench.protocol.live import EngineState
from workbench.tools.tool import ToolDefinition

LAST = "The script of this server is over."


def note(text: str, risk: str = "LOW", **more: Any) -> Called:
    return Called("note", {"security_risk": risk, "summary": "a note", "text": text}, **more)


def streamed(*deltas: dict[str, Any], finish: str | None = "stop") -> Turn:
    """Return an answer of exactly these deltas."""
    chunks = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    end = [{"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}] if finish else []
    return Turn(raw=tuple(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in [*chunks, *end]))


class Trial(Harness):
    """A session on a real model behind the server."""

    def __init__(self, directory: Path, server: ModelServer, patience: Patience, name: str, **more: Any) -> None:
        self.server = server
        self.wire = ProviderModel(name, api_base=server.base_url, api_key=KEY, patience=patience)
        super().__init__(directory, **more)

    def open(self) -> None:
        self.agent = Agent(self.wire, self.tools, self.directory)  # type: ignore[assignment]
        super().open()

    def add(self, tool: ToolDefinition) -> None:
        self.tools[tool.name] = tool
        self.reopen()

    def ask(self, text: str = "go") -> Trial:
        self.session.send(text)
        self.run()
        return self

    def ask_aside(self, text: str = "go") -> Callable[[], None]:
        self.session.send(text)
        thread = threading.Thread(target=self.run)
        thread.start()

        def join() -> None:
            thread.join(60)
            assert not thread.is_alive()

        return join

    @property
    def status_lines(self) -> str:
        """Return every line of the status that was shown."""
        return "\n".join(live.detail for live in self.live if isinstance(live, EngineState) and live.detail)

    @property
    def end(self) -> tuple[str, str]:
        last = self.log()[-1]
        assert isinstance(last, RunEnded)
        return last.reason, last.detail

    @property
    def answers(self) -> list[ModelResponded]:
        return [event for event in self.log() if isinstance(event, ModelResponded)]

    @property
    def results_by_id(self) -> dict[str, ActionObserved]:
        return {event.action_id: event for event in self.log() if isinstance(event, ActionObserved)}

    def close(self) -> None:
        super().close()
        self.wire.close()


def check_usable(d: Trial) -> None:
    """Check the state every row ends in: idle, intact, and the next message is answered."""
    assert d.session.phase == "idle"
    proposed = [event.action_id for event in d.log() if event.kind == "action_proposed"]
    ended = [event.action_id for event in d.log() if event.kind in ("action_observed", "action_abandoned")]
    assert sorted(proposed) == sorted(ended), "each call has exactly one result"
    started = [event.action_id for event in d.log() if isinstance(event, ActionStarted)]
    assert len(started) == len(set(started)), "nothing runs twice"
    assert len(d.notes) == len(set(d.notes))
    d.ask("are you still there?")
    assert d.answers[-1].text == LAST
    for event in d.log():
        encode(event)
    for request in d.server.requests:
        assert openai_faults(request.messages) == []


@pytest.fixture
def trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model_name: str) -> Iterator[Callable[..., Trial]]:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)
    made: list[Trial] = []

    def start(*script: Any, idle: float = 30.0, tries: int = 5, first_wait: float = 0.01, **more: Any) -> Trial:
        server = ModelServer(script).__enter__()
        patience = Patience(connect=5, idle=idle, tries=tries, first_wait=first_wait)
        made.append(Trial(tmp_path, server, patience, model_name, **more))
        return made[-1]

    yield start
    for one in made:
        one.close()
        one.server.__exit__()


def test_l01_rate_limit_waits_with_a_countdown(trial):
    d = trial(Fault(429, headers={"retry-after": "1.2"}), Turn("here")).ask()
    assert re.search("rate limited; try 2 of 5 in [12]s", d.status_lines)
    assert d.answers[0].latency >= 1.2
    assert len(d.server.requests) == 2
    assert d.live[-1].detail == "", "the line goes when the answer is there"
    check_usable(d)


def test_l01_escape_cancels_the_countdown(trial):
    d = trial(Fault(429, headers={"retry-after": "100"}))
    join = d.ask_aside()
    assert wait_until(lambda: "in 100s" in d.status_lines)
    d.session.interrupt()
    join()
    assert d.end[0] == "interrupted"
    assert len(d.server.requests) == 1
    check_usable(d)


def test_l02_permanent_rate_limit_backs_off_up_to_the_maximum(trial):
    d = trial(*[Fault(429)] * 5).ask("write me a poem")
    assert len(d.server.requests) == 5
    assert d.end[0] == "error"
    assert "try again in a minute" in d.end[1]
    check_usable(d)
    assert "write me a poem" in str(d.server.requests[-1].messages), "the message is not lost"


def test_l02_each_wait_is_about_twice_the_previous_one_and_bounded():
    for attempt, about in enumerate((1, 2, 4, 8, 16, 30, 30), 1):
        waits = {wait_before(attempt, LimitedRate("rate", 429), 1.0) for _ in range(50)}
        assert 0.7 * about <= min(waits) < max(waits) <= 1.3 * about, "with some jitter"
    assert wait_before(1, LimitedRate("rate", 429, retry_after=7), 1.0) == 7


@pytest.mark.parametrize("status", [500, 502, 503, 529])
def test_l03_failing_server_is_retried_and_the_answer_appears_once(trial, status):
    d = trial(Fault(status), Fault(status), Turn("I note it.", calls=(note("once"),))).ask()
    assert d.notes == ["once"]
    assert [answer.text for answer in d.answers] == ["I note it.", LAST]
    assert f"busy (HTTP {status}); try 3 of 5" in d.status_lines
    check_usable(d)


@pytest.mark.parametrize("status", [401, 403])
def test_l04_refused_key_is_not_retried_and_not_shown(trial, status):
    d = trial(Fault(status, f"Incorrect API key provided: {KEY}")).ask()
    assert len(d.server.requests) == 1
    assert key_variable(d.wire.name) in d.end[1]
    assert KEY not in d.status_lines + d.end[1]
    assert KEY.encode() not in d.path.read_bytes()
    check_usable(d)


def test_l05_full_window_is_condensed_once_and_then_reported(trial):
    full = Fault(400, "This model's maximum context length is 8192 tokens.", "context_length_exceeded")
    steps = [Turn(calls=(note(f"n{number}"),)) for number in range(8)]
    d = trial(*steps, full, Turn("a summary of it all"), full).ask()
    assert d.kinds().count("history_condensed") == 1
    assert "larger than the model's window" in d.end[1]
    assert len(d.notes) == 8
    check_usable(d)


PAIRING = "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."


def test_l06_refused_call_pairs_are_resent_once_as_text(trial):
    refused = Fault(400, PAIRING, "invalid_request_error")
    d = trial(Turn("I note it.", calls=(note("one"),)), refused, Turn("that worked")).ask()
    assert d.answers[-1].text == "that worked"
    assert "rejected the order of calls and results" in d.status_lines
    first, second = d.server.requests[1:]
    assert "tool_calls" in str(first.messages)
    assert not any("tool_calls" in message or message["role"] == "tool" for message in second.messages)
    assert [message["role"] for message in second.messages] == ["system", "user", "assistant", "user"]
    assert "I called note with" in second.messages[2]["content"]
    assert "noted one" in second.messages[3]["content"]
    check_usable(d)


def test_l06_second_refusal_is_reported_and_not_retried(trial):
    refused = Fault(400, PAIRING, "invalid_request_error")
    d = trial(Turn(calls=(note("one"),)), refused, refused).ask()
    assert len(d.server.requests) == 3
    assert d.end[0] == "error"
    assert "must be followed by tool messages" in d.end[1]
    assert d.notes == ["one"]
    check_usable(d)


@pytest.mark.parametrize("fault", ["refused", "no such host", "no tls"])
def test_l07_unreachable_server_is_reported_at_once(trial, fault):
    d = trial(first_wait=0.01)
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        good = d.server.base_url
        bad = {
            "refused": f"http://127.0.0.1:{held.getsockname()[1]}/v1",
            "no such host": "http://no-such-host.invalid/v1",
            "no tls": good.replace("http:", "https:"),
        }[fault]
        d.wire.close()
        d.wire = ProviderModel(d.wire.name, api_base=bad, api_key=KEY, patience=Patience(connect=5, first_wait=0.01))
        d.reopen()
        d.ask()
    assert d.end[0] == "error"
    assert bad in d.end[1]
    d.wire.close()
    d.wire = ProviderModel(d.wire.name, api_base=good, api_key=KEY)
    d.reopen()
    check_usable(d)


def test_l08_silent_server_times_out(trial):
    d = trial(Fault(kind="silent"), idle=2.5).ask()
    assert "stopped answering" in d.end[1]
    assert len(d.server.requests) == 1
    check_usable(d)


def test_l08_escape_ends_the_wait_for_a_silent_server(trial):
    d = trial(Fault(kind="silent"))
    join = d.ask_aside()
    assert d.server.arrived.wait(60)
    d.session.interrupt()
    join()
    assert d.end[0] == "interrupted"
    check_usable(d)


def test_l09_stalled_response_keeps_its_text_and_is_marked(trial):
    d = trial(Turn("three little tokens and more", cut_after=3, then="stall"), idle=2.5).ask()
    (answer,) = d.answers
    assert (answer.text, answer.incomplete, answer.finish_reason) == ("three little tokens and ", True, "stalled")
    assert "broke off" in d.end[1]
    check_usable(d)
    assert "cut off here" in str(d.server.requests[-1].messages)


def test_l10_interrupted_stream_keeps_the_text_and_no_partial_call(trial):
    d = trial(Turn("I note it.", calls=(note("never"),), cut_after=5)).ask()
    (answer,) = d.answers
    assert (answer.text, answer.incomplete, answer.tool_calls) == ("I note it.", True, ())
    assert d.end == ("error", "the answer broke off before its end. Send a message to continue")
    assert d.notes == []
    check_usable(d)


@pytest.mark.parametrize("finish", ["tool_calls", "length"])
def test_l11_l12_truncated_call_is_never_run(trial, finish):
    half = note("never").text[:-12]
    d = trial(Turn(calls=(Called("note", half),), finish=finish), Turn(calls=(note("smaller"),))).ask()
    assert d.notes == ["smaller"]
    content = d.server.requests[1].messages[-1]["content"]
    assert "was not run" in content
    assert ("Make it smaller" if finish == "length" else "cut off") in content
    check_usable(d)


MALFORMED = ["{'text': 'x'}", '{"text": "x",}', '{"text": NaN}', '{"text": "a', '{"text": "x"} and more']


@pytest.mark.parametrize("arguments", MALFORMED)
def test_l13_malformed_arguments_are_not_repaired(trial, arguments):
    d = trial(Turn(calls=(Called("note", arguments),))).ask()
    assert d.notes == []
    (result,) = d.results_by_id.values()
    assert result.observation["is_error"]
    assert not result.ran
    check_usable(d)


def test_l13_three_malformed_responses_in_a_row_pause_the_run(trial):
    d = trial(*[Turn(calls=(Called("note", text),)) for text in MALFORMED[:3]]).ask()
    assert d.end[0] == "stuck"
    assert "3 malformed tool calls in a row" in d.end[1]
    assert len(d.server.requests) == 3
    check_usable(d)


def test_l14_empty_or_duplicate_ids_are_made_unique(trial):
    first = Turn(calls=(note("a", id="same"), note("b", id="same"), note("c", id="")))
    d = trial(first, Turn(calls=(note("d", id="same"),))).ask()
    assert d.notes == ["a", "b", "c", "d"]
    assert len(d.results_by_id) == 4
    for (action_id, result), text in zip(d.results_by_id.items(), "abcd", strict=True):
        assert result.observation["content"][0]["text"] == f"noted {text}", action_id
    check_usable(d)


NOTHING = {
    "empty choices": Turn(raw=(b'data: {"choices":[]}\n\n',)),
    "null message": Turn(raw=(b'data: {"choices":[{"index":0,"delta":null,"finish_reason":"stop"}]}\n\n',)),
    "null choices": Turn(raw=(b'data: {"choices":null}\n\n',)),
    "nothing": Turn(""),
    "blanks": Turn(" \n "),
    "no events": Turn(raw=(b": keep-alive\n\n",)),
    "only thinking": Turn(reasoning="I wonder whether …"),
}


@pytest.mark.parametrize("what", NOTHING)
def test_l15_l21_empty_response_is_requested_once_more(trial, what):
    d = trial(NOTHING[what], Turn("now in words")).ask()
    assert [event.reason for event in d.log() if event.kind == "agent_nudged"] == ["empty"]
    assert d.answers[-1].text == "now in words"
    check_usable(d)


@pytest.mark.parametrize("what", NOTHING)
def test_l15_l21_second_empty_response_is_reported(trial, what):
    d = trial(NOTHING[what], NOTHING[what]).ask()
    assert d.end == ("error", "the model gave an empty answer twice; send a message, or choose another model")
    assert len(d.server.requests) == 2
    check_usable(d)


ODD_NAMES = {"near": "notes", "spaces": "rm -rf /", "escape": "\x1b[31mred", "long": "n" * 10_000, "empty": ""}


@pytest.mark.parametrize("name", ODD_NAMES.values(), ids=ODD_NAMES)
def test_l16_unknown_tool_gets_the_list_of_tools(trial, name):
    call = {"index": 0, "id": "a", "function": {"name": name, "arguments": "{}"}}
    d = trial(streamed({"tool_calls": [call]}, finish="tool_calls")).ask()
    (result,) = d.results_by_id.values()
    text = result.observation["content"][0]["text"]
    assert result.observation["is_error"]
    assert "The tools are: finish, hang, look, note, peek, write." in text
    (proposed,) = (event for event in d.log() if event.kind == "action_proposed")
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", proposed.tool)
    assert len(text) < 600
    check_usable(d)


def test_l17_forty_calls_with_a_question_and_a_hung_call(trial):
    calls = [note(f"n{number}") for number in range(40)]
    calls[5] = note("n5", "HIGH")
    calls[20] = Called("hang", {"security_risk": "LOW", "summary": "hangs"})
    d = trial(Turn(calls=calls)).ask()
    assert d.session.phase == "deciding"
    assert len(d.notes) == 5
    question = d.session.question
    assert question is not None
    d.session.decide(
        question.proposed.action_id, "rejected", fingerprint=question.assessed.fingerprint, note="not this"
    )
    thread = threading.Thread(target=d.run)
    thread.start()
    assert d.hang.began.wait(60)
    assert d.notes == [f"n{number}" for number in range(20) if number != 5], "a rejection stops no other"
    d.session.interrupt()
    thread.join(60)
    assert len(d.results_by_id) + d.kinds().count("action_abandoned") == 40
    assert d.end[0] == "interrupted"
    check_usable(d)
    results = [m for m in d.server.requests[-1].messages if m["role"] == "tool"]
    assert len(results) == 40
    assert "not this" in results[5]["content"]
    assert all("interrupted" in result["content"] for result in results[21:])


def test_l18_twenty_megabytes_of_arguments_are_refused(trial):
    d = trial(Turn(calls=(note("x" * 20_000_000),))).ask()
    (result,) = d.results_by_id.values()
    assert "too large" in result.observation["content"][0]["text"]
    assert d.notes == []
    assert len(json.dumps(d.server.requests[1].messages)) < 100_000, "they are not sent back"
    check_usable(d)


BOMBS = ['{"text": ' + "[" * 10_000 + "]" * 10_000 + "}", '{"a":' * 10_000 + "1" + "}" * 10_000, "[" * 100_000]


@pytest.mark.parametrize("bomb", BOMBS, ids=["lists", "objects", "open"])
def test_l19_deeply_nested_arguments_are_an_error_result(trial, bomb):
    d = trial(Turn(calls=(Called("note", bomb),))).ask()
    (result,) = d.results_by_id.values()
    assert result.observation["is_error"]
    assert d.notes == []
    check_usable(d)


@pytest.mark.parametrize("depth", [200, 20_000])
def test_l19_streamed_arguments_nested_as_an_object(trial, depth):
    inner = '{"a":' * depth + "1" + "}" * depth
    call = '{"index":0,"id":"a","function":{"name":"note","arguments":' + inner + "}}"
    chunk = f'data: {{"choices":[{{"index":0,"delta":{{"tool_calls":[{call}]}},"finish_reason":"tool_calls"}}]}}\n\n'
    d = trial(Turn(raw=(chunk.encode(),)), tries=1).ask()
    assert d.notes == []
    check_usable(d)


@pytest.mark.parametrize("risk", ["SAFE", 3, None, "low", ["LOW"], {"LOW": 1}])
def test_l20_invalid_risk_counts_as_unknown_and_asks(trial, risk):
    d = trial(Turn(calls=(Called("note", {"security_risk": risk, "summary": "s", "text": "x"}),))).ask()
    assert d.session.phase == "deciding"
    assert d.session.question.proposed.risk == "UNKNOWN"
    assert d.notes == []
    d.session.interrupt()
    check_usable(d)


def test_l22_invalid_bytes_are_replaced(trial):
    parts = (rb'"a \ud800 b"', rb'"nul \u0000 end"', b'"bad \xff\xfe utf"', rb'"\ud83d"', rb'"\ude00 whole"')
    chunks = [b'data: {"choices":[{"index":0,"delta":{"content":' + part + b"}}]}\n\n" for part in parts]
    call = (
        rb'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"\ud800","function":{"name":"note",'
        rb'"arguments":"{\"security_risk\":\"LOW\",\"summary\":\"s\",\"text\":\"x\\ud800\\u0000\"}"}}]},'
        rb'"finish_reason":"tool_calls"}]}' + b"\n\n"
    )
    d = trial(Turn(raw=(*chunks, call))).ask()
    text = d.answers[0].text
    assert text.startswith("a � b")
    assert text.endswith("😀 whole"), "a sign cut in two is whole again"
    assert "\x00" not in text
    assert len(d.results_by_id) == 1
    check_usable(d)
    for request in d.server.requests:
        sent = json.dumps(request.messages, ensure_ascii=False)
        assert "\x00" not in sent
        sent.encode()


@pytest.mark.parametrize(
    "usage", [None, {}, {"prompt_tokens": -5, "completion_tokens": "many"}, {"prompt_tokens": 1.5}]
)
def test_l23_tokens_not_reported_are_unknown(trial, usage):
    d = trial(Turn("counted by nobody", usage=usage)).ask()
    (answer,) = d.answers
    assert (answer.usage.input, answer.usage.output, answer.cost) == (None, None, None)
    check_usable(d)


def test_l24_clock_that_jumps_back_disturbs_no_wait(trial, monkeypatch):
    d = trial(Fault(429, headers={"retry-after": "0.5"}), Turn("first words and", cut_after=2, then="stall"), idle=2.5)
    real = time.time
    join = d.ask_aside()
    assert d.server.arrived.wait(60)
    monkeypatch.setattr(time, "time", lambda: real() - 3600)
    join()
    assert d.answers[0].finish_reason == "stalled"
    assert 0 <= d.answers[0].latency < 60
    check_usable(d)


def test_l24_dropped_idle_connection_is_reopened(trial):
    d = trial(Turn("before the sleep"), Turn("after the sleep")).ask()
    d.server._http.close_all()
    d.ask("and now?")
    assert [answer.text for answer in d.answers] == ["before the sleep", "after the sleep"]
    check_usable(d)


@pytest.mark.parametrize("moment", ["stream", "approval", "tool"])
def test_l25_escape_keeps_the_log_intact_and_the_queued_message(trial, moment):
    turns = {
        "stream": Turn("first words, and then a silence", cut_after=2, then="stall"),
        "approval": Turn(calls=(note("risky", "HIGH"), note("later"))),
        "tool": Turn(calls=(Called("hang", {"security_risk": "LOW", "summary": "h"}), note("later"))),
    }
    d = trial(turns[moment])
    join = d.ask_aside("go")
    begun = {
        "stream": lambda: any(live.kind == "text_delta" for live in d.live),
        "approval": lambda: d.session.phase == "deciding",
        "tool": d.hang.began.is_set,
    }
    assert wait_until(begun[moment], 60)
    d.session.send("and this too")
    d.session.interrupt()
    join()
    assert d.notes == []
    check_usable(d)
    user_messages = [m["content"] for m in d.server.requests[-1].messages if m["role"] == "user"]
    assert user_messages.count("and this too") == 1


@pytest.mark.parametrize(("mode", "ran"), [("ask", False), ("plan", False), ("never", False)])
def test_l26_mode_change_never_decides_the_open_question(trial, mode, ran):
    d = trial(Turn(calls=(note("risky", "HIGH"),))).ask()
    assert d.session.phase == "deciding"
    d.session.set(mode=mode)
    d.run()
    assert (d.notes == ["risky"]) == ran
    if d.session.phase == "deciding":
        d.session.interrupt()
    check_usable(d)


def test_l26_model_change_leaves_the_open_question_unchanged(trial):
    d = trial(Turn(calls=(note("risky", "HIGH"),))).ask()
    question = d.session.question
    d.session.set(model="openai/other")
    d.run()
    assert d.session.question is question
    assert d.notes == []
    d.answer("rejected")
    check_usable(d)
    assert d.notes == []
