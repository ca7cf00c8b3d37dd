"""Reasoning that a model signed is sent back to it, also after a restart, and to no other model."""

import json

import pytest

from tests.fakes.request_checks import openai_faults
from tests.session.fake_agent import says
from workbench.llm.model import ToolCall
from workbench.llm.signatures import signed_for, unsigned
from workbench.session.turn.message_history import messages

THINKING = ({"type": "thinking", "thinking": "Hm.", "signature": "s1"}, {"type": "redacted_thinking", "data": "x"})


def signed_call() -> tuple:
    return (ToolCall("g1", "look", "{}", "sig-a"), ToolCall("g2", "look", "{}"))


def test_signed_response_is_complete_after_a_restart(harness):
    d = harness(says("", thinking=THINKING, tool_calls=signed_call()))
    d.session.send("go")
    d.run()
    d.reopen()
    answer = messages(d.log())[1]
    assert answer["thinking_blocks"] == list(THINKING)
    assert [call.get("provider_specific_fields") for call in answer["tool_calls"]] == [
        {"thought_signature": "sig-a"},
        None,
    ]
    assert answer == d.agent.requests[1][1]


def test_signatures_are_not_sent_to_another_model_even_in_a_late_response(harness):
    def late(*_):
        d.session.set(model="other/two")
        return says("", thinking=THINKING, tool_calls=signed_call())

    d = harness(says("", thinking=THINKING, tool_calls=signed_call()), late)
    d.session.send("go")
    d.run()
    assert "s1" in json.dumps(d.agent.requests[1])
    sent = json.dumps(d.agent.requests[2])
    assert "s1" not in sent
    assert "sig-a" not in sent
    assert openai_faults(d.agent.requests[2]) == []


def test_selecting_the_same_model_again_keeps_signatures(harness):
    d = harness(says("", thinking=THINKING, tool_calls=signed_call()))
    d.session.send("go")
    d.run()
    d.session.set(model="fake/one")
    assert "s1" in json.dumps(messages(d.log()))


def test_signed_call_without_thinking_is_not_sent_to_another_model(harness):
    d = harness(says("", tool_calls=signed_call()))
    d.session.send("go")
    d.run()
    assert "sig-a" in json.dumps(d.agent.requests[1])
    d.session.set(model="other/two")
    d.session.send("and you?")
    d.run()
    assert "sig-a" not in json.dumps(d.agent.requests[2])


@pytest.mark.parametrize("signed", [{"thinking": THINKING}, {}], ids=["thinking", "calls"])
def test_reasoning_of_a_fallback_model_is_marked_with_its_name(harness, signed):
    d = harness(says("", tool_calls=signed_call(), fallback="two", **signed))
    d.session.send("go")
    d.run()
    d.reopen()
    (answer,) = [message for message in messages(d.log()) if "tool_calls" in message]
    assert answer["signed_by"] == "two"
    assert "signed_by" not in json.dumps(signed_for([answer], "two"))
    assert "sig-a" in json.dumps(signed_for([answer], "two"))
    for sent in (signed_for([answer]), signed_for([answer], "three"), unsigned([answer])):
        assert not any(word in json.dumps(sent) for word in ("signed_by", "sig-a", "s1"))
