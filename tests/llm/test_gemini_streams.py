"""Pieces of Gemini's stream that litellm does not expect: omitted arguments, counts that are none, unreadable calls."""

import json

import pytest

from tests.fakes import provider_streams
from tests.fakes.model_turns import Turn
from tests.fakes.provider_server import WireServer
from tests.llm.test_provider_streams import Route, ask, asking
from workbench.llm.model import ModelError, ModelResponse

pytestmark = pytest.mark.filterwarnings("ignore")
ROUTE = Route("gemini/gemini-x", provider_streams.gemini)
COUNTS = {"promptTokenCount": 7, "candidatesTokenCount": 3, "totalTokenCount": 10}
CALL = {"functionCall": {"name": "execute_bash", "args": {"command": "ls"}}}


def piece(parts: object, reason: str | None = None, **more: object) -> bytes:
    candidate = {"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": reason}
    return frame({"candidates": [{name: value for name, value in candidate.items() if value is not None}], **more})


def frame(answer: object) -> bytes:
    return f"data: {json.dumps(answer)}\r\n\r\n".encode()


def answer(*frames: bytes) -> ModelResponse:
    with WireServer(provider_streams.gemini, Turn("unused")) as server, asking(ROUTE, server) as model:
        server.frames = list(frames)
        return ask(model)


@pytest.mark.parametrize(
    "call", [{"name": "list_all"}, {"name": "list_all", "args": None}, {"name": "list_all", "args": {}}]
)
def test_call_without_arguments_has_empty_ones(call):
    response = answer(piece([{"functionCall": call}], "STOP", usageMetadata=COUNTS))
    assert [(each.name, json.loads(each.arguments)) for each in response.tool_calls] == [("list_all", {})]


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        [],
        {"promptTokenCount": -1},
        {"promptTokenCount": None},
        {"promptTokenCount": "7"},
        COUNTS | {"candidatesTokenCount": None},
    ],
)
def test_token_counts_that_are_none_do_not_end_the_answer(usage):
    response = answer(piece([{"text": "Hel"}]), piece([{"text": "lo"}, CALL], "STOP", usageMetadata=usage))
    assert (response.text, len(response.tool_calls), response.incomplete) == ("Hello", 1, False)
    assert response.usage.input is None or response.usage.input >= 0


@pytest.mark.parametrize("noise", [b": keep-alive\n\n", b"event: message\n", b"id: 4\nretry: 3\n", b": a\n: b\n\n\n"])
def test_comments_and_other_fields_do_not_hide_the_end(noise):
    frames = [piece([{"text": "Hel"}]), piece([{"text": "lo"}], "STOP", usageMetadata=COUNTS)]
    response = answer(*(part for each in frames for part in (noise, each)))
    assert (response.text, response.finish_reason, response.usage.input) == ("Hello", "stop", 7)


@pytest.mark.parametrize("content", [None, {}, {"parts": None}, {"parts": []}, {"role": "model"}])
def test_pieces_without_content_are_passed_over(content):
    empty = {"index": 0} if content is None else {"index": 0, "content": content}
    last = frame({"candidates": [{**empty, "finishReason": "STOP"}], "usageMetadata": COUNTS})
    response = answer(frame({"candidates": [empty]}), piece([{"text": "Hello"}]), last)
    assert (response.text, response.finish_reason) == ("Hello", "stop")


@pytest.mark.parametrize("reason", ["MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL"])
def test_call_that_the_provider_could_not_read_ends_no_answer_as_if_it_were_complete(reason):
    end = frame({"candidates": [{"index": 0, "finishReason": reason}], "usageMetadata": COUNTS})
    response = answer(piece([{"text": "I run it."}, CALL]), end)
    assert (response.text, response.tool_calls, response.incomplete) == ("I run it.", (), True)
    with pytest.raises(ModelError, match="could not read a tool call"):
        answer(end)
