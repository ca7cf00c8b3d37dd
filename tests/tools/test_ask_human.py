"""The tool `ask_human` alone: its arguments, and how it asks without a session."""

from __future__ import annotations

import jsonschema
import pytest

from workbench.tools import ArgumentError
from workbench.tools.ask_human.definition import AskHumanAction, AskHumanTool
from workbench.tools.ask_human.question import Question, read_question


def test_models_see_question_options_and_the_read_only_hint():
    tool = AskHumanTool()
    function = tool.to_openai_tool()["function"]
    assert list(function["parameters"]["properties"]) == ["summary", "question", "options"]
    assert function["parameters"]["required"] == ["question"]
    assert function["parameters"]["properties"]["options"]["maxItems"] == 6
    jsonschema.validate({"question": "?", "options": ["a"]}, tool.to_mcp_tool()["inputSchema"])
    assert tool.is_read_only
    assert not tool.annotations.destructiveHint


def test_question_and_options_are_trimmed():
    action = AskHumanTool().action_from_arguments({"question": " Which? ", "options": [" red", "blue\x1b[8m"]})
    assert action.options[0] == "red"
    assert action.question == "Which?"


@pytest.mark.parametrize(
    "wrong", [{"question": "  "}, {"question": "?", "options": ["a"] * 7}, {"question": "?", "options": [""]}, {}]
)
def test_empty_question_or_too_many_options_are_refused(wrong):
    with pytest.raises(ArgumentError, match="question"):
        AskHumanTool().action_from_arguments(wrong)


def test_ask_function_answers_the_question_in_plain_python():
    tool = AskHumanTool(lambda action: action.options[1])
    assert tool(AskHumanAction(question="Which?", options=["red", "blue"])).text == "blue"


def test_nobody_to_ask_is_an_error_with_advice():
    observation = AskHumanTool()(AskHumanAction(question="Which?"))
    assert observation.is_error
    assert "No user is there" in observation.text


@pytest.mark.parametrize(
    ("arguments", "question"),
    [
        ({"question": " a ", "options": ["b ", 3]}, Question("a", ("b", "3"))),
        ({"question": "a", "options": '["b"]'}, Question("a", ("b",))),
        ({"question": "a", "options": "b"}, Question("a")),
        ({"options": {"b": 1}}, Question("")),
    ],
)
def test_question_is_read_from_any_log_content(arguments, question):
    assert read_question(arguments) == question
