"""The input and output of a tool are validated, whoever calls it and in whatever way it runs."""

import asyncio
import functools
import json
import threading
import warnings
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pydantic import BaseModel, ConfigDict

from workbench.session.results import observed
from workbench.tools import (
    Action,
    ImageContent,
    Observation,
    TextContent,
    Tool,
    ToolAnnotations,
    ToolContext,
    ToolDefinition,
    ToolExecutor,
    resolve_tool,
    tool_from_function,
)
from workbench.tools.manifest import ALL_TOOLS


class Ask(Action):
    text: str = ""
    number: int = 0


class OtherAction(Action):
    text: str = ""


class Count(Observation):
    count: int = 0


class LaterCount(Count):
    pass


class OtherObservation(Observation):
    other: str = ""


class Required(Observation):
    value: int


class Open(Observation):
    model_config = ConfigDict(extra="allow")
    count: int = 0


class Own(Observation):
    count: int = 0

    @property
    def to_llm_content(self):
        return (TextContent(text=f"{self.count} in all"),)


class Plain(BaseModel):
    count: int = 5


class Returning(ToolExecutor):
    """Returns a fixed value, and counts its calls."""

    def __init__(self, result: Any) -> None:
        self.result = result
        self.calls: list[Any] = []

    def __call__(self, action):
        self.calls.append(action)
        return self.result


def returning(result: Any, kind: Any = Count, **options: Any) -> Any:
    return ToolDefinition(
        name="ask", description="a", action_type=Ask, observation_type=kind, executor=Returning(result), **options
    )


def test_arguments_in_a_dictionary_become_the_action():
    tool = returning(Count(count=1))
    assert tool({"text": "hello", "number": "3"}).count == 1
    assert tool.executor.calls == [Ask(text="hello", number=3)]


def test_risk_and_summary_are_no_part_of_the_action():
    tool = returning(Count())
    assert not tool({"text": "hello", "security_risk": "LOW", "summary": "a"}).is_error
    assert tool.executor.calls == [Ask(text="hello")]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"nothing": 1}, "`nothing` is not a parameter"),
        ({"number": "many"}, "`number` is 'many'"),
        ({"text": {"a": 1}}, "`text` is wrong"),
        ({1: 2}, "not run"),
        (OtherAction(), "takes Ask or a dictionary of arguments, not OtherAction"),
        (Count(), "not Count"),
        (Plain(), "not Plain"),
        (None, "not NoneType"),
        ("text", "not str"),
        ([("text", "a")], "not list"),
    ],
    ids=["unknown", "number", "object", "key", "action", "observation", "model", "none", "text", "list"],
)
def test_invalid_action_is_refused_and_never_reaches_the_executor(given, message):
    tool = returning(Count())
    result = tool(given)
    assert isinstance(result, Count)
    assert result.is_error
    assert result.text.startswith("ask was not run: ")
    assert message in result.text
    assert tool.executor.calls == []


VALID: dict[str, tuple[Any, type[Observation], int, str]] = {
    "own": (Count(count=3), Count, 3, ""),
    "subclass": (LaterCount(count=3), Count, 3, ""),
    "dictionary": ({"count": 3}, Count, 3, '{"count":3}'),
    "converted": ({"count": "3"}, Count, 3, '{"count":"3"}'),
    "text": ({"count": 3, "content": "three"}, Count, 3, "three"),
    "block": ({"count": 3, "content": TextContent(text="three")}, Count, 3, "three"),
    "blocks": ({"count": 3, "content": [{"type": "text", "text": "three"}]}, Count, 3, "three"),
    "empty content": ({"count": 3, "content": None}, Count, 3, '{"count":3}'),
    "model": (Plain(count=3), Count, 3, '{"count":3}'),
    "extra": ({"count": 3, "more": [1]}, Open, 3, '{"count":3,"more":[1]}'),
    "own text": ({"count": 3}, Own, 3, ""),
}


@pytest.mark.parametrize(("result", "kind", "count", "text"), VALID.values(), ids=VALID)
def test_a_result_becomes_the_observation_of_the_tool(result, kind, count, text):
    observation = returning(result, kind)(Ask())
    assert isinstance(observation, kind)
    assert (observation.is_error, observation.count, observation.text) == (False, count, text)


@pytest.mark.parametrize(
    ("observation", "text"),
    [
        (Count(count=3), '{"count":3}'),
        (LaterCount(count=3), '{"count":3'),
        (Open.model_validate({"count": 1, "more": [{"a": Path("/b")}]}), '{"count":1,"more":[{"a":"/b"}]}'),
        (Count(count=3, is_error=True), '{"count":3}'),
        (Count(count=3, content="three"), "three"),
        (Own(count=3), "3 in all"),
        (Observation(), ""),
    ],
    ids=["fields", "subclass", "extra", "error", "content", "own", "none"],
)
def test_observation_without_content_reaches_the_model_as_json(observation, text):
    sent = "".join(part.text for part in returning(observation, type(observation))(Ask()).to_llm_content)
    assert sent.startswith(text)
    assert bool(sent) is bool(text)
    recorded = observed("a", observation, 0.1, ()).observation["content"]
    assert "".join(block["text"] for block in recorded) == sent


def test_extra_fields_are_kept_if_the_class_allows_them():
    observation = returning({"count": 1, "more": {"deep": [1]}}, Open)(Ask())
    assert observation.model_dump()["more"] == {"deep": [1]}
    assert observation.more == {"deep": [1]}
    assert Open.model_validate({"count": 1, "other": 2}).model_dump()["other"] == 2


INVALID: dict[str, tuple[Any, Any, tuple[str, ...]]] = {
    "other observation": (OtherObservation(other="a"), Count, ("OtherObservation", "Count")),
    "parent": (Observation.from_text("well done"), Count, ("Observation", "Count", "well done")),
    "error of another": (OtherObservation.from_text("bad", is_error=True), Count, ("OtherObservation", "Count", "bad")),
    "wrong value": ({"count": "many"}, Count, ("dict", "Count", "`count` is 'many'")),
    "unknown field": ({"counts": 1}, Count, ("Count", "`counts` is not a field (did you mean `count`?)")),
    "missing field": ({}, Required, ("Required", "`value` is missing")),
    "wrong content": ({"content": 3}, Count, ("Count", "`content`")),
    "text": ("hello", Count, ("str", "Count")),
    "number": (3, Count, ("int", "Count")),
    "none": (None, Count, ("NoneType", "Count")),
    "bytes": (b"a", Count, ("bytes", "Count")),
    "list": ([Count()], Count, ("list", "Count")),
    "class": (Count, Count, ("Count",)),
    "none, no type": (None, None, ("NoneType", "Observation")),
    "error without text": ({"is_error": True}, Required, ("Required", "`value` is missing")),
    "error of wrong kind": ({"is_error": True, "content": 3}, Required, ("Required", "`content`")),
    "content, no type": ({"content": 3}, None, ("Observation", "`content`")),
}


@pytest.mark.parametrize(("result", "kind", "names"), INVALID.values(), ids=INVALID)
def test_a_result_of_another_type_is_refused_with_both_names(result, kind, names):
    observation = returning(result, kind)(Ask())
    assert observation.is_error
    assert observation.text.startswith("ask failed: ")
    assert all(name in observation.text for name in names)
    assert "It has run" in observation.text


@pytest.mark.parametrize(
    "result",
    [
        Observation.from_text("no network", is_error=True),
        {"is_error": True, "content": "no network"},
        {"is_error": True, "content": [{"type": "text", "text": "no network"}], "status": 7},
    ],
    ids=["observation", "text", "blocks"],
)
@pytest.mark.parametrize("kind", [Required, None], ids=["type", "no type"])
def test_a_plain_observation_reports_the_errors_of_any_tool(result, kind):
    observation = returning(result, kind)(Ask())
    assert (type(observation), observation.text, observation.is_error) == (Observation, "no network", True)


@pytest.mark.parametrize(
    "result",
    ["a", 3, 1.5, True, [1, "a"], (1, 2), {"count": 1}, {}, TextContent(text="a")],
    ids=repr,
)
def test_executor_without_a_type_sends_plain_data_as_a_function_does(result):
    def answer():
        return result

    assert returning(result, None)(Ask()) == tool_from_function(answer)({})


def test_a_plain_text_is_the_result_of_a_tool_without_a_type_of_its_own():
    assert returning("hello", None)(Ask()) == Observation.from_text("hello")


@pytest.mark.parametrize(
    ("content", "blocks"),
    [
        ("hello", (TextContent(text="hello"),)),
        ("", (TextContent(text=""),)),
        (None, ()),
        (ImageContent(data="AA==", mime_type="image/png"), (ImageContent(data="AA==", mime_type="image/png"),)),
        ([TextContent(text="a")], (TextContent(text="a"),)),
    ],
    ids=["text", "empty", "none", "image", "list"],
)
def test_content_may_be_a_text_or_one_block(content, blocks):
    assert tuple(Count(content=content).content) == blocks


def _with_default(action, conversation=None):
    return Count(count=conversation or 0)


def _required(action, conversation):
    return Count(count=conversation)


def _keyword(action, *, conversation):
    return Count(count=conversation)


def _other_name(action, context):
    return Count(count=context)


class _Method(ToolExecutor):
    def __call__(self, action, conversation):  # type: ignore[override]
        return Count(count=conversation)


@pytest.mark.parametrize(
    "executor",
    [_with_default, _required, _keyword, _other_name, _Method(), functools.partial(_required)],
    ids=["default", "required", "keyword", "other", "method", "partial"],
)
def test_an_executor_gets_the_conversation_if_it_takes_one(executor):
    tool: Any = ToolDefinition(name="ask", description="", action_type=Ask, observation_type=Count, executor=executor)
    assert tool(Ask(), 7).count == 7
    assert tool({}, conversation=7).count == 7


def test_an_executor_without_a_conversation_runs_with_one():
    assert returning(Count(count=3))(Ask(), "a conversation").count == 3


class Waiting(ToolExecutor):
    """Waits on the event loop until it is canceled."""

    def __init__(self) -> None:
        self.began = threading.Event()
        self.loops: list[Any] = []
        self.closed = False

    async def __call__(self, action: Ask) -> Count:
        self.loops.append(asyncio.get_running_loop())
        if action.text != "wait":
            await asyncio.sleep(0)
            return Count(count=len(self.loops))
        self.began.set()
        await asyncio.Event().wait()
        raise AssertionError("it waits for ever")

    async def close(self) -> None:  # type: ignore[override]
        self.closed = True


def waiting() -> Any:
    return ToolDefinition(name="ask", description="", action_type=Ask, observation_type=Count, executor=Waiting())


def test_an_async_executor_runs_on_one_loop_of_its_own():
    with waiting() as tool:
        assert [tool({}).count, tool({}).count] == [1, 2]
        assert len(set(tool.executor.loops)) == 1
    assert tool.executor.closed
    assert all(loop.is_closed() for loop in tool.executor.loops)
    assert not [thread for thread in threading.enumerate() if thread.name == "tool coroutines"]


def test_an_async_executor_runs_inside_a_running_loop_and_again_after_close():
    async def run():
        with waiting() as tool:
            first = tool({})
        return first.count, tool({}).count, tool.close()

    assert asyncio.run(run()) == (1, 2, None)


@pytest.mark.parametrize("end", ["interrupt", "close"])
def test_an_async_call_can_be_interrupted(end):
    tool, results = waiting(), []
    thread = threading.Thread(target=lambda: results.append(tool({"text": "wait"})))
    thread.start()
    assert tool.executor.began.wait(60)
    getattr(tool, end)()
    thread.join(60)
    (result,) = results
    tool.close()
    assert result.is_error
    assert "interrupted" in result.text


def test_a_coroutine_is_never_left_unawaited():
    async def nothing(action):
        return 3

    tool: Any = ToolDefinition(name="ask", description="", action_type=Ask, observation_type=Count, executor=nothing)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = tool({})
        tool.close()
    assert "int instead of Count" in result.text


SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
}


@pytest.mark.parametrize("name", ["input_schema", "action_type"])
@pytest.mark.parametrize("kind", [Ask, SCHEMA], ids=["class", "schema"])
def test_a_type_may_be_a_class_or_a_json_schema_under_either_name(name, kind):
    options: dict[str, Any] = {name: kind}
    tool: Any = ToolDefinition(name="ask", description="", executor=lambda action: "done", **options)
    arguments = {"text": "a"} if kind is Ask else {"city": "Rome", "days": 2}
    assert tool(arguments).text == "done"
    assert tool({"nothing": 1}).is_error
    assert tool.action_from_arguments(arguments).model_dump(exclude_unset=True) == arguments
    assert set(arguments) <= set(tool.to_mcp_tool()["inputSchema"]["properties"])


OUTPUT = {
    "type": "object",
    "properties": {"count": {"type": "integer"}, "content": {"type": "string"}},
    "required": ["count"],
}


@pytest.mark.parametrize("name", ["output_schema", "observation_type"])
def test_a_json_schema_may_describe_the_result(name):
    results: list[Any] = [{"count": 3, "content": "three"}, {"count": "many"}, {"count": 4, "more": 1}]
    options: dict[str, Any] = {name: OUTPUT}
    tool: Any = ToolDefinition(
        name="ask", description="", action_type=Ask, executor=lambda action: results.pop(0), **options
    )
    good, wrong, more = tool({}), tool({}), tool({})
    assert (good.count, good.text, good.is_error) == (3, "three", False)
    assert wrong.is_error
    assert (more.count, more.text) == (4, '{"count":4,"more":1}')
    jsonschema.validate({"count": 3, "content": "three"}, tool.to_mcp_tool()["outputSchema"])


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"action_type": Count}, TypeError),
        ({"action_type": dict}, TypeError),
        ({"action_type": "Ask"}, TypeError),
        ({}, TypeError),
        ({"action_type": Ask, "input_schema": Ask}, TypeError),
        ({"action_type": Ask, "observation_type": Ask}, TypeError),
        ({"action_type": {"type": "string"}}, ValueError),
        ({"action_type": Ask, "observation_type": {"type": "array"}}, ValueError),
        ({"action_type": Ask, "annotations": {"readOnlyHint": "maybe"}}, ValueError),
        ({"action_type": Ask, "name": ""}, TypeError),
    ],
    ids=["observation", "dict", "text", "none", "twice", "action", "string", "array", "hints", "name"],
)
def test_a_definition_that_cannot_work_is_refused_at_once(options, error):
    with pytest.raises(error):
        ToolDefinition(**{"name": "ask", "description": "", **options})


class CountWordsTool(ToolDefinition):
    pass


class HTTPGetTool(CountWordsTool):
    pass


class Renamed(CountWordsTool):
    name = "other"


class BelowRenamed(Renamed):
    pass


@pytest.mark.parametrize(
    ("kind", "name"),
    [(CountWordsTool, "count_words"), (HTTPGetTool, "http_get"), (Renamed, "other"), (BelowRenamed, "other")],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_subclass_is_named_after_itself(kind, name):
    assert kind.name == name
    tool = kind(description="", action_type=Ask)
    assert (type(tool.name), tool.name) == (str, name)
    assert kind(name="given", description="", action_type=Ask).name == "given"


def test_hints_may_be_a_dictionary_and_give_the_title():
    tool = returning(Count(), annotations={"readOnlyHint": True, "title": "Ask"})
    assert tool.annotations == ToolAnnotations(readOnlyHint=True, title="Ask")
    assert (tool.is_read_only, tool.title) == (True, "Ask")
    assert returning(Count()).title == "ask"


def test_the_mcp_form_has_the_schema_of_the_result():
    tool = returning(Count()).to_mcp_tool()
    assert tool["outputSchema"]["properties"]["count"] == {"default": 0, "type": "integer"}
    tool["outputSchema"]["properties"].clear()
    assert "count" in returning(Count()).to_mcp_tool()["outputSchema"]["properties"]
    assert "outputSchema" not in returning("text", None).to_mcp_tool()
    given = returning(Count()).to_mcp_tool(input_schema={"type": "object"}, output_schema={"type": "object"})
    assert given["inputSchema"] == given["outputSchema"] == {"type": "object"}


def test_the_form_of_the_responses_api_is_flat():
    tool = returning(Count())
    flat = tool.to_responses_tool()
    assert flat.pop("type") == "function"
    assert flat.pop("strict") is False
    assert flat == tool.to_openai_tool()["function"]


ARGUMENTS: dict[str, dict[str, Any]] = {
    "execute_bash": {"command": "echo 42"},
    "str_replace_editor": {"command": "view", "path": "/"},
    "glob": {"pattern": "*.md"},
    "grep": {"pattern": "nothing"},
    "task_tracker": {"command": "plan", "task_list": [{"title": "one"}]},
    "think": {"thought": "a"},
    "finish": {"message": "done"},
    "python_execute": {"code": "print(42)"},
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_a_built_in_tool_takes_a_dictionary_and_its_result_fits_its_schema(name, tmp_path, local_sandbox):
    (tmp_path / "a.md").write_text("a")
    (tool,) = resolve_tool(Tool(name), ToolContext(str(tmp_path), tmp_path / "state"))
    with tool:
        observation = tool(ARGUMENTS[name])
        assert not observation.is_error, observation.text
        schema = tool.to_mcp_tool()["outputSchema"]
        jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema.validate(observation.model_dump(mode="json"), schema)
        assert isinstance(tool.observation_type.model_validate(json.loads(observation.model_dump_json())), Observation)


@pytest.mark.parametrize("name", sorted(ALL_TOOLS - {"openapi", "edit_file", "delegate", "create_chat_completion"}))
def test_a_built_in_tool_refuses_arguments_that_it_does_not_have(name, tmp_path):
    (tool,) = resolve_tool(Tool(name), ToolContext(str(tmp_path), tmp_path / "state"))
    with tool:
        result = tool({"no_such_parameter": 1})
    assert result.is_error
    assert "was not run" in result.text
    assert "no_such_parameter" in result.text
