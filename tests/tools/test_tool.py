import pytest
from pydantic import field_validator

from workbench.tools import (
    Action,
    ArgumentError,
    FileEditorTool,
    FinishTool,
    Observation,
    TaskTrackerTool,
    ThinkTool,
    ToolAnnotations,
    ToolDefinition,
    ToolExecutor,
)


class Greet(Action):
    name: str


class Greeting(Observation):
    pass


class Greeter(ToolExecutor[Greet, Greeting]):
    closed = False

    def __call__(self, action: Greet) -> Greeting:
        if action.name == "nobody":
            raise LookupError("there is \x00 nobody")
        if action.name == "odd":
            return "hello"  # type: ignore[return-value]
        return Greeting.from_text(f"hello {action.name}")

    def preview(self, action):
        raise LookupError("cannot look ahead")

    def close(self) -> None:
        self.closed = True


def greet(**options) -> ToolDefinition:
    return ToolDefinition(name="greet", description="Greets.", action_type=Greet, observation_type=Greeting, **options)


def test_tool_runs_from_arguments_to_an_observation():
    tool = greet(executor=Greeter())
    result = tool(tool.action_from_arguments({"name": "you"}))
    assert isinstance(result, Greeting)
    assert result.text == "hello you"


def test_executor_that_raises_gives_an_error_observation():
    result = greet(executor=Greeter())(Greet(name="nobody"))
    assert isinstance(result, Greeting)
    assert result.is_error
    assert "LookupError" in result.text
    assert "\x00" not in result.text


@pytest.mark.parametrize("error", [SystemExit(3), RecursionError(), StopIteration()])
def test_no_failure_escapes_a_tool(error):
    class Failing(Greeter):
        def __call__(self, action):
            raise error

    result = greet(executor=Failing())(Greet(name="you"))
    assert result.is_error
    assert type(error).__name__ in result.text


def test_failing_argument_validator_is_an_argument_error():
    class Odd(Action):
        name: str

        @field_validator("name")
        @classmethod
        def _known(cls, given):
            return {"you": given}[given]

    tool = ToolDefinition(name="odd", description="o", action_type=Odd)
    assert tool.action_from_arguments({"name": "you"}).name == "you"
    with pytest.raises(ArgumentError, match="KeyError"):
        tool.action_from_arguments({"name": "me"})


def test_failing_working_dir_and_interrupt_do_no_harm():
    class Lost(Greeter):
        def working_dir(self):
            raise LookupError("where am I?")

        def interrupt(self):
            raise LookupError("what shall I stop?")

    tool = greet(executor=Lost())
    assert tool.working_dir() is None
    assert tool.interrupt() is None


def test_executor_that_returns_another_type_gives_an_error_observation():
    result = greet(executor=Greeter())(Greet(name="odd"))
    assert result.is_error
    assert "str" in result.text


def test_failing_preview_is_empty():
    assert greet(executor=Greeter()).preview(Greet(name="you")) == ()


def test_tool_without_an_executor_is_not_executable():
    with pytest.raises(NotImplementedError, match="set_executor"):
        greet().as_executable()


def test_set_executor_leaves_the_original_unchanged():
    bare = greet()
    ready = bare.set_executor(Greeter())
    assert ready.as_executable() is ready
    assert bare.executor is None


def test_close_reaches_the_executor():
    executor = Greeter()
    greet(executor=executor).close()
    assert executor.closed


def test_risk_and_summary_come_first_in_the_exported_schema():
    parameters = greet().to_openai_tool()["function"]["parameters"]
    assert list(parameters["properties"]) == ["security_risk", "summary", "name"]
    assert parameters["properties"]["security_risk"]["enum"] == ["LOW", "MEDIUM", "HIGH"]
    assert parameters["required"] == ["security_risk", "name"]


def test_read_only_tool_is_not_asked_for_its_risk():
    tool = greet(annotations=ToolAnnotations(readOnlyHint=True))
    assert tool.is_read_only
    assert list(tool.to_openai_tool()["function"]["parameters"]["properties"]) == ["summary", "name"]


def test_changing_an_export_does_not_change_the_next_one():
    tool = greet()
    tool.to_openai_tool()["function"]["parameters"]["properties"].clear()
    assert "name" in tool.to_openai_tool()["function"]["parameters"]["properties"]


def test_mcp_form_has_the_tools_own_arguments_and_hints():
    tool = greet(annotations=ToolAnnotations(title="Greet", idempotentHint=True)).to_mcp_tool()
    assert list(tool["inputSchema"]["properties"]) == ["name"]
    assert tool["annotations"] == {
        "title": "Greet",
        "readOnlyHint": False,
        "destructiveHint": True,
        "idempotentHint": True,
        "openWorldHint": True,
    }


@pytest.mark.parametrize("kind", [FileEditorTool, TaskTrackerTool, ThinkTool, FinishTool])
def test_built_in_tool_has_a_long_and_a_short_description(kind):
    tool = kind()
    long = tool.to_openai_tool()["function"]["description"]
    short = tool.to_openai_tool(short=True)["function"]["description"]
    assert 0 < len(short) < len(long) <= 2_000


@pytest.mark.parametrize(
    ("kind", "read_only"), [(FileEditorTool, False), (TaskTrackerTool, True), (ThinkTool, True), (FinishTool, True)]
)
def test_only_tools_without_outside_effects_are_read_only(kind, read_only):
    assert kind().is_read_only is read_only


def test_only_finish_ends_the_run():
    assert FinishTool().ends_run
    assert not any(kind().ends_run for kind in (FileEditorTool, TaskTrackerTool, ThinkTool))
