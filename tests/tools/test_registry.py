import json
import subprocess
import sys

import jsonschema
import pytest

import workbench.tools
from workbench.errors import UsageError
from workbench.tools import (
    BUILTIN_TOOLS,
    FileEditorTool,
    ThinkTool,
    Tool,
    ToolContext,
    ToolDefinition,
    UnknownTool,
    list_registered_tools,
    open_tools,
    register_tool,
    resolve_alias,
    resolve_tool,
    unregister_tool,
)

FILE_TOOLS = ("str_replace_editor", "task_tracker", "think", "finish")


@pytest.fixture
def context(tmp_path):
    return ToolContext(str(tmp_path), tmp_path / "state")


@pytest.fixture(autouse=True)
def _forget():
    yield
    unregister_tool("own")


def test_the_built_in_tools_are_known_from_the_start():
    assert list_registered_tools() == [
        "ask_human",
        "browser",
        "create_chat_completion",
        "delegate",
        "edit_file",
        "execute_bash",
        "execute_ipython_cell",
        "find_tools",
        "finish",
        "glob",
        "grep",
        "openapi",
        "python_execute",
        "request_condensation",
        "str_replace_editor",
        "task_tracker",
        "think",
        "web_read",
    ]


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("bash", "execute_bash"),
        ("terminal", "execute_bash"),
        ("file_editor", "str_replace_editor"),
        ("str_replace", "str_replace_editor"),
        ("terminate", "finish"),
        ("think", "think"),
        ("other", "other"),
    ],
)
def test_aliases_lead_to_the_tools_own_name(alias, name):
    assert resolve_alias(alias) == name


def test_a_specification_becomes_a_tool_that_knows_the_workspace(context, tmp_path):
    (tool,) = resolve_tool(Tool("file_editor"), context)
    result = tool(tool.action_from_arguments({"command": "view", "path": "a.txt"}))
    assert str(tmp_path / "a.txt") in result.text


def test_an_instance_takes_no_parameters(context):
    register_tool("own", ThinkTool())
    assert resolve_tool(Tool("own"), context)[0].name == "think"
    with pytest.raises(UsageError, match="takes no parameters"):
        resolve_tool(Tool("own", {"size": 1}), context)


def test_a_subclass_and_a_factory_receive_parameters(context, tmp_path):
    register_tool("own", FileEditorTool)
    assert resolve_tool(Tool("own", {"workspace": "/elsewhere"}), context)[0].name == "str_replace_editor"
    unregister_tool("own")
    seen = {}

    def make(conv_state, **params):
        seen.update(params, workspace=conv_state.workspace)
        return [ThinkTool()]

    register_tool("own", make)
    assert [tool.name for tool in resolve_tool(Tool("own", {"size": 1}), context)] == ["think"]
    assert seen == {"size": 1, "workspace": str(tmp_path)}


def test_wrong_parameters_are_a_usage_error(context):
    with pytest.raises(UsageError, match="cannot be made"):
        resolve_tool(Tool("think", {"size": 1}), context)


def test_an_unknown_tool_names_the_near_one(context):
    with pytest.raises(UnknownTool, match="Did you mean 'task_tracker'"):
        resolve_tool(Tool("task_traker"), context)


def test_no_tool_takes_the_name_of_another():
    with pytest.raises(ValueError, match="belongs to another"):
        register_tool("execute_bash", ThinkTool())
    with pytest.raises(ValueError, match="belongs to another"):
        register_tool("terminal", ThinkTool())
    register_tool("own", FileEditorTool)
    register_tool("own", FileEditorTool)
    with pytest.raises(ValueError, match="belongs to another"):
        register_tool("own", ThinkTool())


@pytest.mark.parametrize("wrong", [3, "text", dict, None])
def test_what_is_no_tool_cannot_be_registered(wrong):
    with pytest.raises(TypeError):
        register_tool("own", wrong)


def test_a_tool_without_executor_cannot_be_registered():
    bare = ToolDefinition(name="own", description="", action_type=ThinkTool().action_type)
    with pytest.raises(NotImplementedError):
        register_tool("own", bare)


def test_tools_open_by_name(context):
    tools = open_tools(context, FILE_TOOLS)
    assert tuple(tools) == FILE_TOOLS
    assert all(tool.executor is not None for tool in tools.values())


def test_every_built_in_tool_opens_and_shows_a_plain_schema(context):
    tools = open_tools(context)
    try:
        assert tuple(tools) == BUILTIN_TOOLS
        for tool in tools.values():
            parameters = tool.to_openai_tool()["function"]["parameters"]
            jsonschema.Draft202012Validator.check_schema(parameters)
            assert "$ref" not in json.dumps(parameters)
            assert all("description" in part for part in parameters["properties"].values())
    finally:
        for tool in tools.values():
            tool.close()


def test_every_name_of_the_package_can_be_imported():
    names = [name for name in dir(workbench.tools) if not name.startswith("_")]
    assert {"BashTool", "FileEditorTool", "Tool", "Schema"} <= set(names)
    assert all(hasattr(workbench.tools, name) for name in names)


def test_when_one_tool_cannot_open_the_others_are_closed(context):
    closed = []

    class Closing(ThinkTool):
        def close(self):
            closed.append(self.name)

    register_tool("own", Closing)
    with pytest.raises(UnknownTool):
        open_tools(context, ("own", "missing"))
    assert closed == ["think"]


def test_names_load_only_when_they_are_used():
    code = (
        "import sys, workbench.tools; assert 'pydantic' not in sys.modules; "
        "from workbench.tools import open_tools, ToolContext; open_tools(ToolContext('/'), ['think']); "
        "tools = [name for name in sys.modules if name.startswith('workbench.tools.')]; "
        "print([name for name in tools if name.endswith(('.definition', '.impl'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['workbench.tools.think.definition']"


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="Nothing"):
        workbench.tools.Nothing  # noqa: B018
    assert "open_tools" in dir(workbench.tools)
