"""Requests of servers in the middle of a call: forms, addresses, answers of the model, and requests refused."""

import json
from dataclasses import replace

import msgspec.structs
import pytest

from tests.mcp.mcp_session import mcp_harness
from tests.sandbox import wait_for
from tests.session.fake_agent import calls, says
from tests.tui.sample_session import WORKSPACE
from workbench.mcp.elicitation import OddForm, WrongAnswer, fields_of
from workbench.protocol.events import (
    ActionAssessed,
    ActionDecided,
    ActionProposed,
    ActionStarted,
    DelegateStep,
    ModelResponded,
    RawToolCall,
    SessionStarted,
    UserMessage,
)
from workbench.protocol.usage import Usage
from workbench.secrets.masker import MASKER
from workbench.session.actions.decide import CommandError
from workbench.session.recovery import after_a_stop
from workbench.session.state import State
from workbench.view.reducer import apply
from workbench.view.state import SessionState


def call(text):
    return calls(("echo", {"text": text}))


def steps(harness):
    return [each.event for each in harness.of("delegate_step")]


def waiting(harness):
    """Return the open question, as a screen would show it."""
    state = SessionState(workspace=WORKSPACE)
    for event in list(harness.events):
        apply(state, event)
    return state.actions[state.waiting[0]] if state.waiting else None


def at_rest(harness):
    """Return whether the log has no open question left."""
    ledger = State()
    for event in list(harness.events):
        ledger.apply(event)
    return (ledger.phase, ledger.delegated) == ("idle", {})


def result(harness):
    """Return the answer that the server received."""
    observed = harness.of("action_observed")[-1].observation
    return json.loads(observed["content"][0]["text"])


def replied(harness, *answers):
    """Answer one question after the other; return the text of each."""
    texts = []
    for text in answers:
        last = texts[-1][0] if texts else ""
        item = wait_for(
            lambda last=last: (found := waiting(harness)) and found.action_id != last and found, "a question"
        )
        texts.append((item.action_id, item))
        asks = harness.opened.server_questions
        assert asks.command(item.action_id, lambda question, name, text=text: question.answer(name, text))
    return [item for _, item in texts]


def test_form_is_asked_field_by_field_and_shown_completely_before_sending(tmp_path, monkeypatch):
    with mcp_harness(
        tmp_path, monkeypatch, call("form"), says("fine"), server={"timeout": 3}, has_user=True
    ) as harness:
        harness.opened.session.send("go")
        harness.step_beside()
        asked = replied(harness, "Z", "Zoe", "Omit it", "green", "Yes", "dog, Cat", "Send these")
        harness.join()
        assert result(harness) == {
            "action": "accept",
            "content": {"name": "Zoe", "colour": "g", "agrees": True, "pets": ["dog", "cat"]},
        }
        first = asked[0]
        assert (first.agent, first.asks, first.tool) == ("MCP server fake", True, "ask_human")
        question = first.arguments["question"]
        assert question.startswith("Your name (1 of 5)\nAs you are called.\nat least 2 characters\n\nWho are you?")
        assert "goes to the MCP server fake" in question
        assert asked[1].arguments["question"].startswith("That does not fit: 'Z' is too short")
        assert asked[3].arguments["options"] == ["Red", "Green", "Omit it", "Answer nothing"]
        assert asked[4].arguments["options"] == ["No", "Yes", "Answer nothing"]
        assert asked[6].arguments["question"].endswith("Your name: Zoe\ncolour: Green\nagrees: yes\npets: dog, cat")
        decided = [each for each in steps(harness) if each.kind == "action_decided"]
        assert [(each.verdict, each.by) for each in decided] == [("approved", "person")] * 7
        assert waiting(harness) is None


def test_time_limit_pauses_during_a_question_and_unanswered_ones_are_withdrawn(tmp_path, monkeypatch):
    server = {"timeout": 1, "askTimeout": 3}
    with mcp_harness(tmp_path, monkeypatch, call("address"), says("fine"), server=server, has_user=True) as harness:
        harness.opened.session.send("go")
        harness.step_beside()
        item = wait_for(lambda: waiting(harness), "the question")
        assert "on the host pay.example.org:\nhttps://pay.example.org/1?a=b" in item.arguments["question"]
        harness.join()
        assert result(harness) == {"action": "cancel"}
        assert waiting(harness) is None
        asks = harness.opened.server_questions
        assert not asks.command(item.action_id, lambda question, name: question.answer(name, "late"))


def test_decline_and_interrupt_end_a_question(tmp_path, monkeypatch):
    with mcp_harness(tmp_path, monkeypatch, call("address"), call("form"), says("fine"), has_user=True) as harness:
        harness.opened.session.send("go")
        harness.step_beside()
        replied(harness, "Answer nothing")
        wait_for(lambda: harness.of("action_observed"), "the first call to end")
        assert result(harness) == {"action": "decline"}
        item = wait_for(lambda: waiting(harness), "the second question")
        asks = harness.opened.server_questions
        with pytest.raises(CommandError, match="takes an answer"):
            asks.command(item.action_id, lambda question, name: question.decide(name, "approved", fingerprint=""))
        harness.opened.session.interrupt()
        harness.join()
        assert harness.of("run_ended")[-1].reason == "interrupted"
        wait_for(lambda: waiting(harness) is None, "the question to be withdrawn")
        wait_for(lambda: at_rest(harness), "nothing to be open")


def decided(harness, verdict):
    """Decide on the open question of a server; return it."""
    item = wait_for(lambda: waiting(harness), "a question")
    asks = harness.opened.server_questions
    assert asks.command(
        item.action_id, lambda question, name: question.decide(name, verdict, fingerprint=item.fingerprint)
    )
    wait_for(lambda: (now := waiting(harness)) is None or now.action_id != item.action_id, "it to be decided")
    return item


def test_sampling_request_is_shown_completely_approved_and_charged(tmp_path, monkeypatch):
    MASKER.add("A_SAMPLE_KEY", "sk-sample-123456")
    answer = replace(says("Four."), cost=0.25, usage=Usage(input=7, output=2))
    turns = (peek("sample"), answer, peek("sample"), says("fine"))
    with mcp_harness(tmp_path, monkeypatch, *turns, mode="medium", approved=True, has_user=True) as harness:
        harness.opened.session.send("go")
        harness.step_beside()
        item = decided(harness, "approved")
        assert (item.tool, item.agent, item.risk) == ("mcp_sampling", "MCP server fake", "MEDIUM")
        assert item.arguments == {
            "user": "How many legs has a cat? ‹secret A_SAMPLE_KEY›",
            "system": "Be short.",
            "max_tokens": 50,
            "temperature": 0.25,
            "stop": ["END"],
        }
        wait_for(lambda: harness.of("action_observed"), "the first call to end")
        text = result(harness)
        assert (text["content"]["text"], text["role"], text["stopReason"]) == ("Four.", "assistant", "endTurn")
        sent = harness.model.requests[1].messages
        asked = harness.model.requests[1]
        assert (asked.max_tokens, asked.temperature, asked.stop) == (50, 0.25, ("END",))
        assert [message["role"] for message in sent] == ["system", "user"]
        assert "sk-sample" not in json.dumps(sent)
        assert [(each.cost, each.usage.input) for each in harness.of("model_asked")] == [(0.25, 7)]
        answered = [each for each in steps(harness) if each.kind == "action_observed"]
        assert answered[0].observation["content"][0]["text"] == "Four."
        decided(harness, "rejected")
        harness.join()
        assert "The user rejected this." in result(harness)["refused"]
        assert len(harness.model.requests) == 4
        state = SessionState()
        for event in harness.events:
            apply(state, event)
        assert state.total_tokens == 9


def peek(text):
    return calls(("peek", {"text": text}))


def test_without_a_user_requests_are_refused_with_the_reason(tmp_path, monkeypatch):
    kinds = ("form", "sample", "roots", "password", "script")
    turns = (*(peek(kind) for kind in kinds), says("fine"))
    with mcp_harness(tmp_path, monkeypatch, *turns, mode="medium", approved=True) as harness:
        harness.say("go")
        refusals = [
            json.loads(event.observation["content"][0]["text"])["refused"] for event in harness.of("action_observed")
        ]
        notices = [each.text for each in harness.lives if each.kind == "notice"]
    assert refusals == [
        "the MCP server fake asked something, and no user is there to answer: refused",
        "the MCP server fake asked something, and no user is there to answer: refused",
        "the MCP server fake asked for the workspace directories, which no server gets: refused",
        "the MCP server fake asked for a secret in a form (password), which would be sent as plain text: refused; "
        "put the secret into its env or headers",
        "the MCP server fake asked to open a URL that is not a web page: refused",
    ]
    assert notices == refusals
    log = next((tmp_path / "s").rglob("mcp-fake-*.log")).read_text()
    assert "· the MCP server fake asked for the workspace directories" in log


def test_disabled_request_kinds_are_not_offered_and_refused(tmp_path, monkeypatch):
    off = {"sampling": False, "elicitation": False}
    with mcp_harness(
        tmp_path, monkeypatch, call("form"), call("sample"), says("fine"), server=off, has_user=True
    ) as harness:
        harness.say("go")
        refusals = [
            json.loads(event.observation["content"][0]["text"])["refused"] for event in harness.of("action_observed")
        ]
        assert all(text.endswith("which its configuration disables: refused") for text in refusals)
        assert len(refusals) == 2
        assert harness.of("delegate_step") == []


@pytest.mark.parametrize(
    ("schema", "answer", "value"),
    [
        ({"type": "string", "format": "email"}, "me@example.org", "me@example.org"),
        ({"type": "string", "format": "email"}, "me", WrongAnswer),
        ({"type": "string", "format": "date"}, "2026-02-30", WrongAnswer),
        ({"type": "integer", "minimum": 3}, "3", 3),
        ({"type": "integer"}, "3.5", WrongAnswer),
        ({"type": "integer"}, "[3]", WrongAnswer),
        ({"type": "number", "maximum": 2}, "2.5", WrongAnswer),
        ({"type": "number"}, "1e400", WrongAnswer),
        ({"type": "number"}, "2.5", 2.5),
        ({"type": "boolean"}, "perhaps", WrongAnswer),
        ({"type": "string", "enum": ["a", "b"], "enumNames": ["One", "Two"]}, "two", "b"),
        ({"type": "string", "enum": ["a", "b"]}, "c", WrongAnswer),
        ({"type": "string", "pattern": "("}, "x", "x"),
        ({"type": "array", "items": {"anyOf": [{"const": "a", "title": "One"}]}, "maxItems": 1}, "One", ["a"]),
        ({"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 1}, "a, b", WrongAnswer),
    ],
)
def test_answer_is_converted_to_its_schema_or_asked_again(schema, answer, value):
    field = fields_of("x", {"properties": {"it": schema}})[0]
    if value is WrongAnswer:
        with pytest.raises(WrongAnswer):
            field.value(answer)
    else:
        assert field.value(answer) == value


@pytest.mark.parametrize(
    "schema",
    [
        None,
        {"properties": []},
        {"properties": {"a": {"type": "array"}}},
        {"properties": {str(n): {} for n in range(30)}},
    ],
)
def test_invalid_form_is_refused(schema):
    with pytest.raises(OddForm, match="refused"):
        fields_of("x", schema)


def test_killed_engines_open_server_question_is_closed_and_its_call_not_repeated():
    steps_of = [
        ActionProposed(action_id="mcp-1:1", response_id="", call_id="mcp-1:1", tool="ask_human"),
        ActionAssessed(action_id="mcp-1:1", risk="LOW", needs_decision=False, needs_answer=True),
    ]
    log = [
        SessionStarted(id="s", workspace=WORKSPACE, model="m", mode="medium"),
        UserMessage(text="go"),
        ModelResponded(response_id="r", model="m", tool_calls=(RawToolCall(id="c", name="peek", arguments="{}"),)),
        ActionProposed(action_id="c", response_id="r", call_id="c", tool="peek"),
        ActionAssessed(action_id="c", risk="LOW", needs_decision=False),
        ActionDecided(action_id="c", verdict="approved", by="mode"),
        ActionStarted(action_id="c"),
        *(DelegateStep(action_id="c", agent="MCP server fake", session="", event=step) for step in steps_of),
    ]
    ledger, state = State(), SessionState()
    numbered = [msgspec.structs.replace(event, seq=seq) for seq, event in enumerate(log, 1)]
    for event in numbered:
        ledger.apply(event)
        apply(state, event)
    assert state.waiting == ["mcp-1:1"]
    after = after_a_stop(ledger)
    assert [event.kind for event in after] == ["action_abandoned", "run_ended"]
    for seq, event in enumerate(after, len(log) + 1):
        ledger.apply(event)
        apply(state, msgspec.structs.replace(event, seq=seq))
    assert (state.waiting, ledger.phase) == ([], "idle")
