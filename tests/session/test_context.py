"""The parts that fill the context window: each message is counted once, and again only after a summary replaced it."""

import pytest

from tests.session.fake_agent import calls, faults_of, says
from workbench.protocol.events import (
    ActionObserved,
    FileText,
    HistoryCondensed,
    ModelResponded,
    RawToolCall,
    ResourcesRead,
    UserMessage,
)
from workbench.protocol.resource_text import ResourceText
from workbench.protocol.usage import ContextParts, Usage
from workbench.session.turn.context_window import PartCount
from workbench.session.turn.message_history import MessageHistory

LOOK = ("look", {})


def answers(d) -> list[ModelResponded]:
    return [event for event in d.log() if isinstance(event, ModelResponded)]


def result(text: str) -> ActionObserved:
    return ActionObserved(action_id="a", observation={"content": [{"type": "text", "text": text}]})


def test_parts_of_a_request_sum_up_to_the_providers_count(harness):
    d = harness(calls(LOOK, usage=Usage(input=1_000, output=5)), says("Done.", usage=Usage(input=1_400, output=5)))
    d.session.send("x" * 400)
    d.run()
    first, second = (answer.parts for answer in answers(d))
    assert (first.system, first.tools, first.messages, first.tool_output) == (250, 500, 250, 0)
    assert second.tool_output > 0
    assert second.system + second.tools + second.messages + second.tool_output == 1_400


def test_parts_are_estimated_without_a_providers_count(harness):
    d = harness(says("Done."))
    d.session.send("x" * 400)
    d.run()
    assert answers(d)[0].parts == ContextParts(system=100, tools=200, messages=100)


def test_mentioned_files_and_resources_are_counted_apart_from_messages():
    count = PartCount(max_observe=0)
    count.apply(UserMessage(text="x" * 400, attached=(FileText(path="a.py", text="y" * 4_000),)))
    count.apply(ResourcesRead(message=1, resources=(ResourceText(name="srv:doc", text="z" * 4_000),)))
    parts = count.parts((0, 0), None)
    assert (parts.messages, parts.tool_output) == (100, 0)
    assert 2_000 <= parts.files < 2_100
    history = MessageHistory()
    history.apply(UserMessage(seq=1, text="x" * 400, attached=(FileText(path="a.py", text="y" * 4_000),)))
    history.apply(ResourcesRead(seq=2, message=1, resources=(ResourceText(name="srv:doc", text="z" * 4_000),)))
    count.recount(history.request())
    again = count.parts((0, 0), None)
    assert abs(again.files - parts.files) < 5
    assert abs(again.messages - parts.messages) < 5


def test_only_the_sent_part_of_a_long_result_counts():
    count = PartCount(max_observe=200)
    count.apply(result("y" * 5_000))
    assert count.parts((0, 0), None).tool_output == 50


def test_reopened_session_has_the_same_parts(harness):
    d = harness(calls(LOOK), says("Done."), says("Yes."))
    d.session.send("go")
    d.run()
    d.reopen()
    d.session.send("and now?")
    d.run()
    before, after = answers(d)[-2:]
    assert after.parts.messages > before.parts.messages
    assert after.parts.tool_output == before.parts.tool_output


def test_summary_replaces_the_condensed_part_in_the_counts(harness):
    long = [calls(LOOK, text="z" * 2_000) for _ in range(9)]
    d = harness(*long, says("Done."), stop_loops=False, condense_events=18)
    d.agent.model.summaries = [says("GOAL\ngo")]
    d.session.send("go")
    d.run()
    assert any(isinstance(event, HistoryCondensed) for event in d.log())
    assert faults_of(d.agent.requests[-1]) == []
    parts, before = answers(d)[-1].parts, answers(d)[-2].parts
    assert parts.messages < before.messages
    assert parts.tool_output < before.tool_output


@pytest.mark.parametrize("counted", [0, 7, None])
def test_odd_counts_never_give_a_negative_part(counted):
    count = PartCount(max_observe=200)
    count.apply(UserMessage(text="go"))
    count.apply(ModelResponded(response_id="r", model="m", tool_calls=(RawToolCall(id="c", name="n", arguments="{}"),)))
    parts = count.parts((3, 3), counted)
    assert min(parts.system, parts.tools, parts.messages, parts.tool_output) >= 0
