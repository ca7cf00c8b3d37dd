"""A request asks for one answer and states whether tools may be called; other choices of the reply are ignored."""

import json

import pytest

from tests.fakes.model_turns import Turn
from workbench.llm.model import ModelRequest
from workbench.llm.stream import Joiner

TOOL = {"type": "function", "function": {"name": "execute_bash", "parameters": {"type": "object", "properties": {}}}}
HELLO = [{"role": "user", "content": "hello"}]


def line(*choices: dict) -> bytes:
    return b"data: " + json.dumps({"id": "r", "choices": choices}).encode() + b"\n\n"


def piece(text: str, index: int, end: str | None = None) -> dict:
    return {"index": index, "delta": {"content": text}, "finish_reason": end}


def test_one_of_several_choices_is_used_however_they_are_chunked(serve):
    raw = (
        line(piece("One ", 0), piece("Two ", 1)),
        line(piece("more two", 1, "length")),
        line(piece("more one", 0, "stop")),
    )
    response = serve(Turn(raw=raw)).ask()
    assert (response.text, response.finish_reason) == ("One more one", "stop")


def test_first_choice_is_used_even_if_the_second_arrives_earlier(serve):
    raw = (
        line(piece("Two ", 1)),
        line(piece("One", 0), piece("more two", 1)),
        line(piece("", 1, "length")),
        line(piece("", 0, "stop")),
    )
    response = serve(Turn(raw=raw)).ask()
    assert (response.text, response.finish_reason) == ("One", "stop")


def test_end_of_the_second_choice_does_not_end_the_first(serve):
    raw = (line(piece("One ", 0)), line(piece("Two", 1, "stop")))
    response = serve(Turn(raw=raw, done=False)).ask()
    assert (response.text, response.incomplete) == ("One ", True)


@pytest.mark.parametrize("reason", ["error", "network_error"])
def test_response_given_up_by_its_provider_is_incomplete_and_runs_no_call(serve, reason):
    call = {"index": 0, "id": "a", "function": {"name": "execute_bash", "arguments": '{"command": "rm -r bui'}}
    raw = (line(piece("One ", 0)), line({"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": reason}))
    response = serve(Turn(raw=raw)).ask()
    assert (response.text, response.incomplete, response.tool_calls) == ("One ", True, ())


def test_choice_without_an_index_is_used():
    for index in ({}, {"index": None}, {"index": 0}):
        joiner = Joiner()
        joiner.add({"choices": [{"delta": {"content": "a"}, **index}]})
        joiner.add({"choices": [{"delta": {"content": "b"}, **index}]})
        assert joiner.text == "ab"


def test_content_may_be_text_or_parts():
    joiner = Joiner()
    joiner.add({"choices": [{"delta": {"content": [{"type": "text", "text": "one "}, {"type": "image"}, "odd"]}}]})
    joiner.add({"choices": [{"delta": {"content": "two"}}]})
    assert joiner.text == "one two"


@pytest.mark.parametrize("choice", ["none", "required"])
def test_tool_choice_is_sent_with_the_tools(serve, choice):
    caller = serve(Turn("ok"), Turn("ok"), Turn("ok"))
    for tools, expected in (((TOOL,), choice), ((), choice), ((TOOL,), "auto")):
        request = ModelRequest(HELLO, tools, expected)
        caller.model.respond(request, caller.deltas.append, caller.cancel)
    choices = [request.body.get("tool_choice") for request in caller.server.requests]
    assert choices == [choice, None, None]
