"""Programs written for OpenHands and OpenManus run with their own arguments, methods and results."""

import asyncio
from enum import Enum
from typing import Any

import pytest

from tests.sdk.fake_model import FakeModel, calls, says
from workbench import Agent, Conversation, ToolCollection
from workbench.errors import UsageError
from workbench.sdk import LLM, ToolCallAgent, ToolChoice, get_logger
from workbench.tools import BaseTool, ThinkTool, ToolFailure, ToolResult


class Adder(BaseTool):
    name: str = "adder"
    description: str = "Adds."
    parameters = {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a"],
    }

    async def execute(self, a: int, b: int = 2) -> ToolResult:  # type: ignore[override]
        return ToolResult(output=a + b)


class Echo(BaseTool):
    """A tool with a parameter that is named like one of ours."""

    name: str = "echo"

    async def execute(self, action: str = "nothing") -> str:  # type: ignore[override]
        return action


class Choice(str, Enum):  # noqa: UP042 - as in OpenManus
    AUTO = "auto"
    REQUIRED = "required"


@pytest.mark.parametrize(
    ("tool", "arguments", "output"),
    [(Adder(), {"a": 1}, 3), (Adder(), {"a": 1, "b": 5}, 6), (Echo(), {"action": "x"}, "x"), (Echo(), {}, "nothing")],
    ids=["one", "two", "same name", "none"],
)
def test_keywords_call_a_tool_as_in_openmanus(tool, arguments, output):
    result = asyncio.run(tool(**arguments))
    assert getattr(result, "output", result) == output
    assert tool(arguments).text == str(output)


def test_a_tool_is_exported_with_its_own_parameters_alone():
    function = Adder().to_param()["function"]
    assert Adder().to_param()["type"] == "function"
    assert (function["name"], function["description"]) == ("adder", "Adds.")
    assert set(function["parameters"]["properties"]) == {"a", "b"}
    assert function["parameters"]["required"] == ["a"]


@pytest.mark.parametrize(
    ("first", "second", "joined"),
    [
        (ToolResult(output="a"), ToolResult(output="b"), ToolResult(output="ab")),
        (ToolResult(output="a"), ToolResult(error="b"), ToolResult(output="a", error="b")),
        (ToolResult(system="a"), ToolFailure(error="b"), ToolResult(system="a", error="b")),
        (ToolResult(), ToolResult(base64_image="aa"), ToolResult(base64_image="aa")),
    ],
    ids=["output", "error", "failure", "image"],
)
def test_results_are_added(first, second, joined):
    assert first + second == joined
    assert bool(joined)


def test_two_images_are_not_added():
    with pytest.raises(ValueError, match="cannot be combined"):
        ToolResult(base64_image="aa") + ToolResult(base64_image="bb")


@pytest.mark.parametrize(
    ("result", "is_true", "text"),
    [
        (ToolResult(), False, ""),
        (ToolResult(output="a"), True, "a"),
        (ToolResult(output={"a": 1}), True, '{"a":1}'),
        (ToolFailure(error="bad"), True, "Error: bad"),
        (ToolResult.from_text("a"), True, "a"),
    ],
    ids=["empty", "text", "data", "error", "content"],
)
def test_a_result_is_a_truth_value_and_a_text(result, is_true, text):
    assert bool(result) is is_true
    assert str(result) == text


@pytest.mark.parametrize(
    ("result", "fields", "text"),
    [
        (ToolResult(output="a"), {"output": "b"}, "b"),
        (ToolResult(output="a"), {"error": "b"}, "Error: b"),
        (ToolFailure(error="a"), {"system": "b"}, "Error: a"),
        (ToolResult.from_text("a"), {"system": "b"}, "a"),
    ],
    ids=["output", "error", "failure", "content"],
)
def test_a_replaced_value_changes_the_content(result, fields, text):
    changed = result.replace(**fields)
    assert type(changed) is type(result)
    assert (changed.text, changed.is_error) == (text, text.startswith("Error"))
    assert all(getattr(changed, name) == value for name, value in fields.items())


def adder(a: int) -> int:
    return a


@pytest.mark.parametrize("second", [Adder, Adder(), adder], ids=["class", "instance", "function"])
def test_a_second_tool_of_the_same_name_is_left_out_with_a_warning(second, caplog):
    first = Adder()
    for tools in (ToolCollection(first, second), ToolCollection(first).add_tool(second).add_tools(second, "think")):
        assert next(iter(tools)) is first
        assert [tool.name for tool in tools][1:] in ([], ["think"])
        assert "has a tool 'adder' already" in caplog.text
        tools.remove_tool("adder")
        assert tools.add_tool(Adder()).get_tool("adder") is not first


def test_an_agent_is_created_run_and_cleaned_up_as_in_openmanus(agent_with, local_sandbox):
    class Manus(ToolCallAgent):
        name: str = "Manus"
        description: str = "An agent."

    async def program():
        agent = await Manus.create(llm=FakeModel(says("One.")), workspace=local_sandbox.project)
        result = await agent.run(request="go")
        await agent.cleanup()
        return agent.name, agent.description, result.text

    assert asyncio.run(program()) == ("Manus", "An agent.", "One.")
    assert agent_with(FakeModel(says("Two."))).run_sync(request="go").text == "Two."
    own = agent_with(FakeModel(), name="own", description="Mine.")
    assert (own.name, own.description) == ("own", "Mine.")


@pytest.mark.parametrize("choice", ["REQUIRED", "Required", Choice.REQUIRED, ToolChoice.REQUIRED, "required"], ids=str)
def test_the_choice_of_tools_is_taken_in_any_case(agent_with, choice):
    model = FakeModel(calls(("finish", {"message": "ok"})))
    agent_with(model, ["finish"], tool_choice=choice).run_sync("go")
    assert model.requests[0].tool_choice == "required"


def test_a_choice_that_is_none_is_refused(agent_with):
    with pytest.raises(UsageError, match="tool_choice must be one of"):
        agent_with(FakeModel(), tool_choice="any")


@pytest.mark.parametrize("name", ["mcp", "mcp_config"])
@pytest.mark.parametrize("wrap", [True, False], ids=["table", "servers"])
def test_servers_are_configured_by_either_name(agent_with, name, wrap):
    servers = {"fetch": {"command": "uvx", "args": ["server"]}}
    options: dict[str, Any] = {name: {"mcpServers": servers} if wrap else servers}
    assert list(agent_with(FakeModel(), **options)._settings.mcpServers) == ["fetch"]
    with pytest.raises(UsageError, match="mcp must be a table"):
        agent_with(FakeModel(), **{name: 3})


@pytest.mark.parametrize("label", ["usage_id", "service_id"])
def test_a_model_takes_the_labels_of_openhands(label):
    options: dict[str, Any] = {label: "agent"}
    llm = LLM(model="openai/x", api_key="secret", **options)
    assert getattr(llm, label) == "agent"
    assert "secret" not in repr(llm)


@pytest.mark.parametrize("visualize", [True, False])
def test_a_conversation_is_limited_as_in_openhands(visualize, local_sandbox, capsys):
    model = FakeModel(*(calls(("think", {"thought": str(number)})) for number in range(5)))
    agent = Agent(model, [ThinkTool])
    with Conversation(
        agent, workspace=local_sandbox.project, max_iteration_per_run=2, visualize=visualize
    ) as conversation:
        conversation.send_message("go")
        assert conversation.run().reason == "limit"
        with pytest.raises(UsageError, match="has a session"):
            Conversation(agent, max_iteration_per_run=3)
    assert len(model.requests) == 2
    assert capsys.readouterr().out == ""


def test_a_limit_of_a_conversation_is_checked(agent_with):
    with pytest.raises(UsageError, match="max_steps must be a whole number from 1"):
        Conversation(agent_with(FakeModel()), max_iteration_per_run=0)


def test_a_program_gets_its_logger(caplog):
    get_logger("program.part").warning("one line")
    assert [(record.name, record.message) for record in caplog.records] == [("program.part", "one line")]


@pytest.mark.parametrize(
    "given",
    [[Adder(), Echo()], (Adder(), Echo()), [[Adder()], Echo()], ToolCollection(Adder(), Echo())],
    ids=["list", "tuple", "nested", "collection"],
)
def test_a_collection_takes_tools_in_lists(given):
    collection = ToolCollection(given)
    assert [tool.name for tool in collection] == ["adder", "echo"]
    assert [tool.name for tool in ToolCollection().add_tools(given, "think")] == ["adder", "echo", "think"]


def test_a_collection_runs_a_tool_by_position_and_by_name():
    collection = ToolCollection([Adder()])
    by_position = asyncio.run(collection.execute("adder", {"a": 1}))
    by_name = asyncio.run(collection.execute(name="adder", tool_input={"a": 1}))
    assert by_position.text == by_name.text == "3"
    assert asyncio.run(collection.execute("nothing")).is_error
