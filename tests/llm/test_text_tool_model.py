"""A model without tool calling that writes its calls as plain text: its requests, its stream, its results."""

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.llm.test_text_tool_calls import BASH, FINISH, call
from tests.llm.test_text_tool_slips import OPENINGS
from workbench.agent.responses import read_response
from workbench.llm.model import Cancel, Delta, ModelRequest, ModelResponse
from workbench.llm.text_tools.model import CallHider, TextCallModel
from workbench.tools.context import ToolContext
from workbench.tools.registry import open_tools

ASKED = [{"role": "system", "content": "Be good."}, {"role": "user", "content": "List the files."}]


class Chatting:
    """A model that only chats: streams its texts in small pieces and records its requests."""

    name = "chat/only"

    def __init__(self, *texts: str, **more: object) -> None:
        self.texts = list(texts)
        self.more = more
        self.requests: list[ModelRequest] = []
        self.is_closed = False

    def respond(self, request, on_delta, cancel):
        self.requests.append(request)
        text = self.texts.pop(0)
        for at in range(0, len(text), 5):
            on_delta(Delta("text", text[at : at + 5]))
        return ModelResponse("r1", self.name, text, **self.more)

    def close(self):
        self.is_closed = True


def ask(model, messages=ASKED, tools=(BASH, FINISH)):
    text: list[Delta] = []
    response = TextCallModel(model).respond(ModelRequest(messages, tools), text.append, Cancel())
    return response, "".join(delta.text for delta in text if delta.kind == "text")


def test_tools_are_sent_as_text_and_a_call_is_returned():
    model = Chatting(
        "I look.\n\n<function=execute_bash>\n<parameter=command>ls</parameter>\n<parameter=timeout>3</parameter>\n"
    )
    response, text = ask(model)
    (request,) = model.requests
    assert (request.tools, request.stop) == ((), ("</function",))
    assert "BEGIN FUNCTION #1: execute_bash" in request.messages[0]["content"]
    assert response.text == "I look."
    assert text.rstrip() == "I look."
    assert response.finish_reason == "tool_calls"
    ((name, arguments),) = [(each.name, json.loads(each.arguments)) for each in response.tool_calls]
    assert (name, arguments) == ("execute_bash", {"command": "ls", "timeout": 3})


def test_history_with_calls_is_sent_as_text_even_with_invalid_arguments():
    broken = {**call("execute_bash", "c2"), "function": {"name": "execute_bash", "arguments": "{'command'"}}
    history = [
        *ASKED,
        {"role": "assistant", "content": "", "tool_calls": [call("execute_bash", "c1", command="ls"), broken]},
        {"role": "tool", "tool_call_id": "c1", "content": "a.txt"},
        {"role": "tool", "tool_call_id": "c2", "content": "no JSON"},
    ]
    model = Chatting("Fine.")
    response, text = ask(model, history)
    sent = model.requests[0].messages
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "user", "user"]
    assert "{'command'" in sent[2]["content"]
    assert sent[3]["content"] == "EXECUTION RESULT of [execute_bash]:\na.txt"
    assert (response.text, text, response.tool_calls) == ("Fine.", "Fine.", ())


@pytest.mark.parametrize(
    "text",
    [
        "<function=execute_bash>\n<parameter=command>rm -rf /tm",
        "<function=execute_bash>\nls\n</function>",
    ],
)
def test_unreadable_call_has_no_json_arguments(text):
    (made,) = ask(Chatting(text))[0].tool_calls
    assert made.name == "execute_bash"
    with pytest.raises(ValueError, match="Expecting value"):
        json.loads(made.arguments)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<function=execute_bash>\n<command>ls</command>\n</function>", "outside its parameters: `<command>"),
        ("<function=execute_bash>\nls\n</function>", "Write each value inside <parameter=NAME>"),
        ('<invoke name="execute_bash">\n<parameter=command>rm -rf /tm', "cut off before its end. Send it again"),
        ('<tool_call>{"name": "execute_bash", "arguments": {"command": "a", "command": "b"}}', "names `command` twice"),
    ],
    ids=["tags", "bare", "cut", "json-twice"],
)
def test_what_is_wrong_with_an_unreadable_call_is_sent_to_the_model(text, message):
    (made,) = ask(Chatting(text))[0].tool_calls
    (tool,) = open_tools(ToolContext("/"), ("execute_bash",)).values()
    (read,) = read_response(ModelResponse("r", "m", tool_calls=(made,)), {tool.name: tool}, set())
    tool.close()
    assert (read.tool, read.action) == ("execute_bash", None)
    assert message in read.error
    assert "valid JSON" not in read.error


def test_invalid_values_and_unknown_tools_are_left_to_the_agent():
    text = "<function=execute_bash>\n<parameter=timeout>soon</parameter>\n</function>\n<function=rm>\n</function>"
    response, _ = ask(Chatting(text))
    assert [(each.name, json.loads(each.arguments)) for each in response.tool_calls] == [
        ("execute_bash", {"timeout": "soon"}),
        ("rm", {}),
    ]


def test_incomplete_response_has_no_calls():
    text = "So.\n\n<function=finish>\n</function>"
    response, _ = ask(Chatting(text, incomplete=True))
    assert (response.text, response.tool_calls) == ("So.", ())


def test_requests_without_tools_and_to_models_with_tool_calling_are_unchanged():
    model = Chatting("Sum.", "Sum.")
    ask(model, tools=())
    assert model.requests[0].messages == ASKED
    wrapped = TextCallModel(model, lambda: False)
    request = ModelRequest(ASKED, (BASH,))
    wrapped.respond(request, lambda delta: None, Cancel())
    assert model.requests[1] is request
    wrapped.close()
    assert model.is_closed


pieces = st.lists(
    st.sampled_from(["a", " <", "<fun", "</", "think>", "x\n", "<tool", "function", "="]), max_size=8
).map("".join)


def streamed(text: str, cuts: list[int]) -> dict[str, str]:
    streamed_text: list[Delta] = []
    hider = CallHider(streamed_text.append)
    edges = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    for start, end in itertools.pairwise(edges):
        hider.add(Delta("text", text[start:end]))
    hider.end()
    return {
        kind: "".join(delta.text for delta in streamed_text if delta.kind == kind) for kind in ("text", "reasoning")
    }


@given(pieces, pieces, st.lists(st.integers(0, 200), max_size=12))
def test_text_streams_completely_and_no_part_of_a_call_is_shown(words, rest, cuts):
    whole = words + "<function=execute_bash>" + rest
    expected = words if "<function=" not in words and "<tool_call>" not in words and "<think>" not in words else None
    text = streamed(whole, cuts)["text"]
    assert "<function=" not in text
    assert expected is None or text == expected


@given(st.lists(st.integers(0, 60), max_size=10))
def test_thinking_streams_as_reasoning(cuts):
    text = "Well. <think>2 < 3 </th</think>Yes. <function=finish>"
    assert streamed(text, cuts) == {"text": "Well. Yes. ", "reasoning": "2 < 3 </th"}


@given(st.sampled_from(["`", '"', "'"]), st.sampled_from([" tag. ", ""]), st.lists(st.integers(0, 60), max_size=10))
def test_a_quoted_tag_streams_as_text(quote, rest, cuts):
    words = f"A {quote}<think>{quote}{rest}"
    assert streamed(f"{words}<function=finish>", cuts) == {"text": words, "reasoning": ""}
    assert streamed(f"A {quote}<think>", cuts)["text"].startswith(f"A {quote}")


@given(st.sampled_from(list(OPENINGS.values())), st.lists(st.integers(0, 200), max_size=12))
def test_no_form_of_a_call_shows_while_it_streams(opening, cuts):
    text = f"Well. {opening}\n<parameter=command>ls</parameter>\n</function>"
    assert streamed(text, cuts) == {"text": "Well. ", "reasoning": ""}


def test_the_agent_gets_what_was_repaired_with_the_call():
    text = '<function name="execute_bash">\n<parameter=command=ls</parameter>\n</tool_call>'
    (made,) = ask(Chatting(text))[0].tool_calls
    assert (made.name, json.loads(made.arguments)) == ("execute_bash", {"command": "ls"})
    assert len(made.repairs) == 3
    regular = "<function=execute_bash>\n<parameter=command>ls</parameter>\n</function>"
    assert ask(Chatting(regular))[0].tool_calls[0].repairs == ()
