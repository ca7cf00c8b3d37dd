"""The advice after a repeated mistake names what differs from the schema and shows a valid call, in one safe line."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.agent.loop_detection import ADVICE, advice_on
from workbench.tools.context import ToolContext
from workbench.tools.registry import open_tools


@pytest.fixture(scope="module")
def tools(tmp_path_factory):
    opened = open_tools(ToolContext(str(tmp_path_factory.mktemp("work"))), ("execute_bash", "task_tracker", "think"))
    yield opened
    for tool in opened.values():
        tool.close()


def test_advice_names_deviations_from_the_schema_and_shows_a_valid_call(tools):
    message = advice_on("execute_bash", {"comand": "ls", "timeout": "soon"}, tools, True)
    assert message.startswith(ADVICE)
    assert "not in the schema: `comand`" in message
    assert "missing: `command`" in message
    assert "`timeout` must be of type number" in message
    assert tools["execute_bash"].action_from_arguments(json.loads(message.partition("fits: ")[2].removesuffix(".]")))


def test_advice_lists_the_values_of_an_enum(tools):
    message = advice_on("task_tracker", {"command": "show"}, tools, True)
    assert "`command` must be one of view, plan" in message


def test_unreadable_arguments_get_an_example(tools):
    message = advice_on("think", {}, tools, False)
    assert 'one JSON object, for example {"thought": "…"}' in message


def test_unknown_tool_gets_the_nearest_name(tools):
    assert "`execute_bash` is the nearest" in advice_on("exec_bash", {}, tools, True)
    assert "use one of the tools in the list" in advice_on("teleport", {}, tools, True)


def test_valid_arguments_get_the_advice_to_try_something_else(tools):
    message = advice_on("execute_bash", {"command": "ls", "is_input": False, "summary": "x"}, tools, True)
    assert "the same call will fail again" in message
    assert "schema" not in message


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(["execute_bash", "task_tracker", "think", "other\n\x1b[2J"]),
    st.dictionaries(st.text(max_size=8), st.none() | st.booleans() | st.text() | st.lists(st.integers()), max_size=4),
    st.booleans(),
)
def test_advice_is_always_one_safe_line(tools, name, arguments, is_readable):
    message = advice_on(name, arguments, tools, is_readable)
    assert len(message.splitlines()) == 1
    assert "\x1b" not in message
    assert len(message) < 1_000
