"""create_chat_completion: an answer of a given shape, validated before it is accepted."""

import json

import pytest

from workbench.errors import UsageError
from workbench.tools import ArgumentError, Tool, ToolContext, resolve_tool
from workbench.tools.create_chat_completion.definition import CreateChatCompletionObservation, CreateChatCompletionTool

REVIEW = {
    "type": "object",
    "properties": {
        "verdict": {"enum": ["good", "bad"]},
        "score": {"type": "integer", "minimum": 0, "maximum": 10},
        "remarks": {"type": "array", "items": {"$ref": "#/$defs/remark"}},
    },
    "required": ["verdict", "score"],
    "$defs": {
        "remark": {
            "type": "object",
            "properties": {"line": {"type": "integer"}, "text": {"type": "string"}},
            "required": ["line"],
        }
    },
}
GOOD = {"verdict": "good", "score": 7, "remarks": [{"line": 3, "text": "ä"}]}


def answer(response_type, response):
    tool = CreateChatCompletionTool(response_type)
    return tool(tool.action_from_arguments({"response": response}))


def test_text_is_the_default_response():
    tool = CreateChatCompletionTool()
    result = tool(tool.action_from_arguments({"response": "all is well"}))
    assert isinstance(result, CreateChatCompletionObservation)
    assert (result.text, result.response, result.is_error) == ("all is well", "all is well", False)


def test_data_is_returned_as_data_and_json():
    result = answer(REVIEW, GOOD)
    assert result.response == GOOD
    assert json.loads(result.text) == GOOD
    assert "ä" in result.text


def test_omitted_fields_are_not_filled_in():
    assert answer(REVIEW, {"verdict": "bad", "score": 0}).response == {"verdict": "bad", "score": 0}


@pytest.mark.parametrize(
    ("response", "message"),
    [
        ({"verdict": "good"}, r"response\.score"),
        ({"verdict": "so so", "score": 1}, r"response\.verdict.*good"),
        ({"verdict": "good", "score": 11}, r"response\.score"),
        ({"verdict": "good", "score": "many"}, r"response\.score"),
        ({"verdict": "good", "score": 1, "remarks": [{"text": "x"}]}, r"response\.remarks.*line"),
        ({"verdict": "good", "score": 1, "mood": "fine"}, r"mood"),
        ("good", "response"),
        (None, "response"),
    ],
)
def test_invalid_response_is_refused_with_the_reason(response, message):
    with pytest.raises(ArgumentError, match=message):
        answer(REVIEW, response)


@pytest.mark.parametrize("arguments", [{}, {"response": 3}, {"response": ["a"]}, {"answer": "x"}])
def test_text_response_is_required_and_must_be_text(arguments):
    with pytest.raises(ArgumentError, match="response"):
        CreateChatCompletionTool().action_from_arguments(arguments)


@pytest.mark.parametrize(
    ("response_type", "response"),
    [
        ({"type": "array", "items": {"type": "string"}}, ["a", "b"]),
        ({"type": "integer"}, 3),
        ({"type": "boolean"}, False),
        ({"anyOf": [{"type": "string"}, {"type": "number"}]}, 1.5),
        ({"type": "object", "additionalProperties": {"type": "number"}}, {"a": 1.0}),
        ({"type": "object", "properties": {"self": {}, "model_x": {}}}, {"self": "a", "model_x": 2}),
    ],
)
def test_any_json_schema_can_be_the_type(response_type, response):
    assert answer(response_type, response).response == response


def test_model_sees_the_schema():
    tool = CreateChatCompletionTool(REVIEW)
    parameters = tool.to_openai_tool()["function"]["parameters"]
    shape = parameters["properties"]["response"]
    assert parameters["required"] == ["response"]
    assert shape["required"] == ["verdict", "score"]
    assert shape["properties"]["verdict"]["enum"] == ["good", "bad"]
    assert shape["properties"]["remarks"]["items"]["properties"]["line"] == {"type": "integer"}
    assert "$ref" not in json.dumps(parameters)


@pytest.mark.parametrize("response_type", ["number", None, 3, {"type": "object", "properties": 5}])
def test_unusable_type_is_refused_on_creation(response_type):
    with pytest.raises(UsageError, match="structured answer"):
        CreateChatCompletionTool(response_type)


def test_tool_is_read_only_and_created_by_name_with_its_type():
    (tool,) = resolve_tool(Tool("create_chat_completion", {"response_type": REVIEW}), ToolContext("/"))
    assert tool.is_read_only
    assert not tool.ends_run
    assert len(tool.short_description) < len(tool.description)
