"""The spans of a run have the names, attributes and parents of OpenTelemetry's conventions for generative AI."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pytest
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as conventions
from opentelemetry.semconv._incubating.attributes.process_attributes import PROCESS_EXIT_CODE
from opentelemetry.semconv.attributes.error_attributes import ERROR_TYPE

from tests.fakes.otlp_server import OtlpServer, ReceivedSpan
from tests.telemetry.sessions import SESSION, traced
from workbench.telemetry.input_messages import input_content
from workbench.telemetry.span import CallInput

OPERATION = conventions.GEN_AI_OPERATION_NAME
OWN = {"ohw.step.number", "ohw.run.end"}
NAMES = {value for name, value in vars(conventions).items() if name.startswith("GEN_AI_")}


@dataclass
class Trace:
    server: OtlpServer
    start: datetime
    end: datetime

    @property
    def run(self) -> ReceivedSpan:
        return self.server.named("invoke_agent ohw")

    @property
    def steps(self) -> list[ReceivedSpan]:
        return self.server.children(self.run)

    def of(self, operation: str, parent: ReceivedSpan) -> list[ReceivedSpan]:
        return [each for each in self.server.children(parent) if each.attributes.get(OPERATION) == operation]


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trace]:
    with OtlpServer() as server:
        times = traced(tmp_path_factory.mktemp("trace"), server)
        yield Trace(server, **times)


def test_run_contains_steps_with_their_model_call_and_tool_calls(trace: Trace):
    assert trace.run.parent == ""
    assert {each.trace for each in trace.server.spans} == {trace.run.trace}
    assert [each.name for each in trace.steps] == ["step 1", "step 2", "step 3", "step 4"]
    tools = [[each.name for each in trace.of("execute_tool", step)] for step in trace.steps]
    assert tools == [
        ["execute_tool delegate", "execute_tool delegate"],
        ["execute_tool str_replace_editor"],
        ["execute_tool execute_bash"],
        ["execute_tool finish"],
    ]
    assert [len(trace.of("chat", step)) for step in trace.steps] == [1, 1, 1, 1]


def test_run_of_a_sub_agent_is_a_child_of_the_call_that_started_it(trace: Trace):
    calls = trace.of("execute_tool", trace.steps[0])
    runs = [run for call in calls for run in trace.of("invoke_agent", call)]
    assert {run.name for run in runs} == {"invoke_agent reviewer", "invoke_agent sub-agent"}
    reviewer = trace.server.named("invoke_agent reviewer")
    steps = trace.server.children(reviewer)
    assert [[each.name for each in trace.of("execute_tool", step)] for step in steps] == [
        ["execute_tool execute_bash"],
        ["execute_tool finish"],
    ]
    conversations = {run.attributes[conventions.GEN_AI_CONVERSATION_ID] for run in (trace.run, *runs)}
    assert len(conversations) == 3


def test_name_that_the_model_gave_a_sub_agent_is_not_sent(trace: Trace):
    names = {each.attributes[conventions.GEN_AI_AGENT_NAME] for each in trace.server.spans}
    assert names == {"ohw", "reviewer", "sub-agent"}


def test_failures_have_a_type(trace: Trace):
    failed = {each.name: each.attributes[ERROR_TYPE] for each in trace.server.spans if each.is_error}
    assert failed == {"execute_tool str_replace_editor": "tool_error", "execute_tool execute_bash": "rejected"}
    (ran,) = [each for each in trace.server.spans if PROCESS_EXIT_CODE in each.attributes]
    assert (ran.attributes[PROCESS_EXIT_CODE], ran.is_error) == (3, False)
    assert all((ERROR_TYPE in each.attributes) == each.is_error for each in trace.server.spans)


def test_every_attribute_is_one_of_the_conventions(trace: Trace):
    used = {name for each in trace.server.spans for name in each.attributes}
    assert used - NAMES == {ERROR_TYPE, PROCESS_EXIT_CODE, *OWN}
    deprecated = {conventions.GEN_AI_SYSTEM, conventions.GEN_AI_PROMPT, conventions.GEN_AI_COMPLETION}
    assert used & deprecated == set()
    operations = {each.attributes[OPERATION] for each in trace.server.spans if OPERATION in each.attributes}
    assert operations == {"invoke_agent", "chat", "execute_tool"}
    assert operations <= {each.value for each in conventions.GenAiOperationNameValues}


def test_run_names_the_agent_the_conversation_and_the_model(trace: Trace):
    attributes = dict(trace.run.attributes)
    conversation = attributes.pop(conventions.GEN_AI_CONVERSATION_ID)
    assert attributes.pop(conventions.GEN_AI_REQUEST_MODEL).endswith("/script.toml")
    assert attributes == {
        OPERATION: "invoke_agent",
        conventions.GEN_AI_AGENT_NAME: "ohw",
        conventions.GEN_AI_PROVIDER_NAME: "scripted",
        "ohw.run.end": "finished",
    }
    assert conversation.startswith(f"{SESSION[:8]}-{SESSION[-4:]}-")


def test_model_call_has_its_model_its_tokens_and_its_answer(trace: Trace):
    (chat,) = trace.of("chat", trace.steps[0])
    assert chat.name == f"chat {chat.attributes[conventions.GEN_AI_REQUEST_MODEL]}"
    assert chat.kind == "SPAN_KIND_CLIENT"
    assert chat.attributes[conventions.GEN_AI_PROVIDER_NAME] == "scripted"
    assert chat.attributes[conventions.GEN_AI_RESPONSE_MODEL].startswith("scripted/")
    assert chat.attributes[conventions.GEN_AI_RESPONSE_ID] == "scripted-1-first0"
    assert chat.attributes[conventions.GEN_AI_RESPONSE_FINISH_REASONS] == ["tool_calls"]
    assert chat.attributes[conventions.GEN_AI_USAGE_INPUT_TOKENS] > 0
    assert chat.attributes[conventions.GEN_AI_USAGE_OUTPUT_TOKENS] > 0


def test_tool_call_has_the_name_of_the_tool_and_the_id_of_the_call(trace: Trace):
    (call,) = trace.of("execute_tool", trace.steps[1])
    assert call.attributes[conventions.GEN_AI_TOOL_NAME] == "str_replace_editor"
    assert call.attributes[conventions.GEN_AI_TOOL_CALL_ID]
    assert call.kind == "SPAN_KIND_INTERNAL"


def test_times_are_those_of_the_events_and_within_the_parent(trace: Trace):
    spans = {each.id: each for each in trace.server.spans}
    assert trace.start <= trace.run.start <= trace.run.end <= trace.end
    for span in spans.values():
        parent = spans.get(span.parent, trace.run)
        assert parent.start <= span.start <= span.end <= parent.end, span.name


def test_nothing_that_was_written_is_sent(trace: Trace):
    sent = str(trace.server.spans) + str(trace.server.requests)
    for word in ("falcon", "Rename", "rename", "reviewed", "echo", "keep the", "sk-live"):
        assert word not in sent


def test_content_is_sent_on_request_with_secrets_masked(tmp_path: Path):
    with OtlpServer() as server:
        traced(tmp_path, server, content=True)
    run = server.named("invoke_agent ohw")
    (message,) = json.loads(run.attributes[conventions.GEN_AI_INPUT_MESSAGES])
    assert message["role"] == "user"
    assert "Rename the falcon" in message["parts"][0]["content"]
    step = server.children(run)[1]
    chat, view = sorted(server.children(step), key=lambda each: each.name)
    (answer,) = json.loads(chat.attributes[conventions.GEN_AI_OUTPUT_MESSAGES])
    assert answer["parts"][0]["name"] == "str_replace_editor"
    assert json.loads(view.attributes[conventions.GEN_AI_TOOL_CALL_ARGUMENTS])["path"].endswith("/falcon")
    assert "does not exist" in view.attributes[conventions.GEN_AI_TOOL_CALL_RESULT]
    assert "sk-live" not in str(server.spans)
    assert {name for each in server.spans for name in each.attributes} - NAMES == {ERROR_TYPE, PROCESS_EXIT_CODE, *OWN}


def test_full_input_of_each_model_call_and_answers_of_sub_agents_are_content(tmp_path: Path):
    with OtlpServer() as server:
        traced(tmp_path, server, content=True)
    run = server.named("invoke_agent ohw")
    second = next(each for each in server.children(server.children(run)[1]) if each.name.startswith("chat"))
    sent = json.loads(second.attributes["gen_ai.input.messages"])
    assert [message["role"] for message in sent[:3]] == ["user", "assistant", "tool"]
    assert "Rename the falcon" in sent[0]["parts"][0]["content"]
    call = next(part for part in sent[1]["parts"] if part["type"] == "tool_call")
    assert sent[2]["parts"][0]["id"] == call["id"]
    assert "The falcon is reviewed." in sent[2]["parts"][0]["response"]
    (system,) = json.loads(second.attributes["gen_ai.system_instructions"])
    assert str(tmp_path / "work") in system["content"]
    tools = json.loads(second.attributes["gen_ai.tool.definitions"])
    assert {"type": "function", "name": "str_replace_editor"}.items() <= next(
        tool for tool in tools if tool["name"] == "str_replace_editor"
    ).items()
    reviewer = server.named("invoke_agent reviewer")
    calls = [
        each.attributes
        for step in server.children(reviewer)
        for each in server.children(step)
        if each.name.startswith("chat")
    ]
    assert "echo falcon" in calls[0]["gen_ai.output.messages"]
    assert "The falcon is reviewed." in calls[1]["gen_ai.output.messages"]
    inputs = [json.loads(each["gen_ai.input.messages"]) for each in calls]
    assert [[message["role"] for message in each] for each in inputs] == [["user"], ["user", "assistant", "tool"]]
    assert "You are the sub-agent reviewer" in inputs[0][0]["parts"][0]["content"]
    assert "falcon" in inputs[1][2]["parts"][0]["response"]
    for each in calls:
        assert "Review them." in each["gen_ai.system_instructions"]
        assert "execute_bash" in each["gen_ai.tool.definitions"]
    assert "sk-live" not in str(server.spans)


def test_input_that_is_too_large_has_its_first_and_latest_messages():
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "first"}, {"type": "image_url", "image_url": {}}]},
        *({"role": "user", "content": str(number) * 400} for number in range(6)),
    ]
    whole = input_content(CallInput(messages), 10_000)["gen_ai.input.messages"]
    assert len(whole) == 7
    assert whole[0]["parts"][1]["content"] == "[an image, which is not sent]"
    part = input_content(CallInput(messages), 1_200)["gen_ai.input.messages"]
    assert part[0] == whole[0]
    assert part[1]["parts"][0]["content"] == "[4 earlier messages are not sent: the input is too large]"
    assert part[2:] == whole[5:]
    assert input_content(CallInput(messages), 1)["gen_ai.input.messages"][2:] == whole[6:]
