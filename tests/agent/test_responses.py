"""Turning a response into actions: each call separately and in order; nothing a model sends raises an exception."""

from collections.abc import Iterator

import pytest

from workbench.agent.responses import read_response
from workbench.llm.model import ModelResponse, ToolCall
from workbench.tools.context import ToolContext
from workbench.tools.registry import open_tools
from workbench.tools.tool import ToolDefinition


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, ToolDefinition]]:
    names = ("execute_bash", "str_replace_editor", "task_tracker", "think", "finish", "delegate")
    opened = open_tools(ToolContext(str(tmp_path_factory.mktemp("work"))), names)
    yield opened
    for tool in opened.values():
        tool.close()


def answer(*calls: ToolCall, **more: object) -> ModelResponse:
    return ModelResponse(id="r1", model="m", tool_calls=calls, **more)


def think(call_id: str = "c1", arguments: str = '{"thought": "hm"}', name: str = "think") -> ToolCall:
    return ToolCall(call_id, name, arguments)


def test_call_becomes_an_action_without_risk_and_summary(tools):
    arguments = '{"security_risk": "HIGH", "summary": "Think about\\nit", "thought": "hm"}'
    (read,) = read_response(answer(think(arguments=arguments), text=" I think. "), tools, set())
    assert read.error == ""
    assert read.action is not None
    assert read.action.model_dump()["thought"] == "hm"
    assert read.arguments == {"thought": "hm"}
    assert (read.call_id, read.tool, read.thought) == ("c1", "think", "I think.")
    assert (read.summary, read.risk) == ("Think about", "HIGH")


@pytest.mark.parametrize("risk", ['"SAFE"', "3", "null", '"low"', '["LOW"]', '{"LOW": 1}', "true"])
def test_invalid_risk_counts_as_unknown(tools, risk):
    (read,) = read_response(answer(think(arguments=f'{{"security_risk": {risk}, "thought": "x"}}')), tools, set())
    assert (read.risk, read.error) == ("UNKNOWN", "")


def test_missing_risk_and_summary_of_a_wrong_type_are_accepted(tools):
    (read,) = read_response(answer(think(arguments='{"summary": ["no"], "thought": "x"}')), tools, set())
    assert (read.risk, read.summary, read.error) == ("UNKNOWN", "", "")


def test_forty_calls_keep_their_order_and_the_text_goes_to_the_first(tools):
    calls = [think(f"c{number}", f'{{"thought": "{number}"}}') for number in range(40)]
    read = read_response(answer(*calls, text="So:"), tools, set())
    assert [call.arguments["thought"] for call in read] == [str(number) for number in range(40)]
    assert [call.thought for call in read] == ["So:"] + [""] * 39


def test_ids_are_unique_and_valid_for_every_provider(tools):
    calls = [think("a"), think("a"), think(""), think(""), think("old"), think("x y\n" * 100)]
    read = read_response(answer(*calls), tools, {"old", "old-2"})
    ids = [call.call_id for call in read]
    assert len(set(ids)) == 6
    assert ids[0] == "a"
    assert not {"old", "old-2"} & set(ids)
    assert all(0 < len(name) <= 64 and name.replace("_", "").replace("-", "").isalnum() for name in ids)


def test_alias_resolves_to_its_tool(tools):
    (read,) = read_response(answer(ToolCall("c", "terminate", '{"message": "bye"}')), tools, set())
    assert (read.tool, read.error) == ("finish", "")


@pytest.mark.parametrize("name", ["no_such_tool", "two words", "x" * 10_000, "", "\x1b[2Jclear", "think; rm"])
def test_unknown_tool_error_lists_the_available_tools(tools, name):
    (read,) = read_response(answer(think(name=name)), tools, set())
    assert read.action is None
    assert "delegate, execute_bash, finish, str_replace_editor, task_tracker, think" in read.error
    assert len(read.error) < 500
    assert "\x1b" not in read.error
    assert 0 < len(read.tool) <= 64


@pytest.mark.parametrize("arguments", ["{'thought': 1}", '{"thought": NaN}', "[]", '{"thought": "cut o', "1"])
def test_arguments_that_are_not_an_object_are_an_error(tools, arguments):
    (read,) = read_response(answer(think(arguments=arguments)), tools, set())
    assert read.action is None
    assert read.error.startswith("think was not run: ")
    assert read.arguments == {}


def test_error_for_invalid_arguments_lists_valid_ones(tools):
    (read,) = read_response(answer(think(arguments='{"thougt": "x"}')), tools, set())
    assert read.action is None
    assert "thought" in read.error
    assert read.arguments == {"thougt": "x"}


def test_one_invalid_call_does_not_affect_the_others(tools):
    read = read_response(answer(think("a"), think("b", "{"), think("c")), tools, set())
    assert [bool(call.error) for call in read] == [False, True, False]
    assert [call.action is None for call in read] == [False, True, False]


def test_call_cut_at_the_length_limit_never_runs_even_if_it_parses(tools):
    read = read_response(answer(think("a"), think("b"), finish_reason="length"), tools, set())
    assert [call.action is None for call in read] == [False, True]
    assert "length limit" in read[1].error


def test_calls_of_an_interrupted_response_do_not_run(tools):
    (read,) = read_response(answer(think(), incomplete=True), tools, set())
    assert read.action is None
    assert "broke" in read.error


@pytest.mark.parametrize(
    ("name", "arguments", "tool", "today"),
    [
        ("bash", '{"cmd": "ls"}', "execute_bash", {"command": "ls"}),
        ("terminate", '{"status": "success"}', "finish", {"task_completed": "true"}),
        (
            "str_replace_based_edit_tool",
            '{"command": "insert", "path": "/a", "insert_line": "1", "insert_text": " x"}',
            "str_replace_editor",
            {"new_str": " x"},
        ),
    ],
)
def test_calls_in_the_format_of_older_versions_become_actions(tools, name, arguments, tool, today):
    (read,) = read_response(answer(ToolCall("c", name, arguments)), tools, set())
    assert (read.tool, read.function, read.error) == (tool, name, "")
    assert today.items() <= read.arguments.items()
    assert read.action is not None


@pytest.mark.parametrize(("value", "meant"), [("true", True), ("True", True), ("false", False), ("False", False)])
def test_boolean_may_be_sent_as_text(tools, value, meant):
    call = ToolCall("c", "execute_bash", f'{{"command": "y", "is_input": "{value}"}}')
    (read,) = read_response(answer(call), tools, set())
    assert read.action is not None
    assert read.action.model_dump()["is_input"] is meant


def test_refusal_prevents_every_call_from_becoming_an_action(tools):
    read = read_response(answer(think("a"), think("b")), tools, set(), refusal="tools are switched off.")
    assert [(call.action, call.error) for call in read] == [(None, "think was not run: tools are switched off.")] * 2


@pytest.mark.parametrize(
    ("name", "agent"),
    [
        ("delegate_to_browsing_agent", "browsing"),
        ("delegate_to_reviewer", "reviewer"),
        ("delegate_to_code_reviewer_agent", "code_reviewer"),
        ("Delegate_To_Browsing_Agent", "Browsing"),
        ("delegate_to_agent", "agent"),
        ("delegate-to-browsing-agent", "browsing"),
        ("functions.delegate_to_reviewer", "reviewer"),
    ],
)
@pytest.mark.parametrize("task", ["inputs", "task", "prompt"])
def test_kind_of_sub_agent_in_a_tool_name_is_the_agent(tools, name, agent, task):
    (read,) = read_response(answer(ToolCall("c", name, f'{{"{task}": "Look."}}')), tools, set())
    assert (read.tool, read.function, read.error) == ("delegate", name, "")
    assert read.arguments == {"agent": agent, "inputs": "Look."}


def test_kind_in_the_tool_name_is_stronger_than_another_agent(tools):
    call = ToolCall("c", "delegate_to_reviewer_agent", '{"agent": "writer", "inputs": "Look."}')
    (read,) = read_response(answer(call), tools, set())
    assert read.arguments == {"agent": "reviewer", "inputs": "Look."}


@pytest.mark.parametrize("name", ["delegate_to_", "delegate_to_a b", "delegate_to_" + "x" * 60, "xdelegate_to_a"])
def test_other_names_name_no_kind(tools, name):
    (read,) = read_response(answer(ToolCall("c", name, '{"inputs": "Look."}')), tools, set())
    assert read.action is None


def test_own_tool_named_like_a_kind_is_called_itself(tools):
    own = {**tools, "delegate_to_billing_agent": tools["think"]}
    (read,) = read_response(answer(think(name="delegate_to_billing_agent")), own, set())
    assert (read.tool, read.error) == ("delegate_to_billing_agent", "")
