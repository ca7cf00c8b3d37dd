import contextlib
import functools
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jsonschema
import pytest

import workbench.tools
from workbench.errors import UsageError
from workbench.tools import (
    BUILTIN_TOOLS,
    FileEditorTool,
    TaskTrackerTool,
    ThinkTool,
    Tool,
    ToolBase,
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
from workbench.tools.exports import ALIASES
from workbench.tools.manifest import ALL_TOOLS, manifest_of
from workbench.tools.registry import builtin_names, find_tool, stands_in

FILE_TOOLS = ("str_replace_editor", "task_tracker", "think", "finish")


@pytest.fixture
def context(tmp_path):
    return ToolContext(str(tmp_path), tmp_path / "state")


@pytest.fixture(autouse=True)
def _forget():
    yield
    for name in list_registered_tools():
        with contextlib.suppress(ValueError):  # a built-in tool that nothing replaces
            unregister_tool(name)


def test_built_in_tools_are_registered_from_the_start():
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
def test_aliases_resolve_to_the_tools_name(alias, name):
    assert resolve_alias(alias) == name


def test_specification_becomes_a_tool_for_the_workspace(context, tmp_path):
    (tool,) = resolve_tool(Tool("file_editor"), context)
    result = tool(tool.action_from_arguments({"command": "view", "path": "a.txt"}))
    assert str(tmp_path / "a.txt") in result.text


def test_instance_takes_no_parameters(context):
    register_tool("own", ThinkTool())
    assert resolve_tool(Tool("own"), context)[0].name == "think"
    with pytest.raises(UsageError, match="takes no parameters"):
        resolve_tool(Tool("own", {"size": 1}), context)


@pytest.mark.parametrize("is_many", [False, True], ids=["one", "several"])
def test_a_factory_may_be_async(context, is_many):
    async def create(conv_state, **params):
        tools = ThinkTool.create(conv_state)
        return tools if is_many else tools[0]

    register_tool("late", create)
    (tool,) = resolve_tool(Tool("late", {"a": 1}), context)
    assert tool.name == "think"


def test_subclass_and_factory_receive_parameters(context, tmp_path):
    register_tool("own", FileEditorTool)
    assert resolve_tool(Tool("own", {"workspace": "/elsewhere"}), context)[0].name == "str_replace_editor"
    seen = {}

    def make(conv_state, **params):
        seen.update(params, workspace=conv_state.workspace)
        return [ThinkTool()]

    register_tool("own", make)
    assert [tool.name for tool in resolve_tool(Tool("own", {"size": 1}), context)] == ["think"]
    assert seen == {"size": 1, "workspace": str(tmp_path)}


def test_invalid_parameters_raise_usage_error(context):
    with pytest.raises(UsageError, match="cannot be made"):
        resolve_tool(Tool("think", {"size": 1}), context)


def test_unknown_tool_names_the_nearest_one(context):
    with pytest.raises(UnknownTool, match="Did you mean 'task_tracker'"):
        resolve_tool(Tool("task_traker"), context)


@pytest.mark.parametrize("name", ["execute_bash", "terminal", "think", "TaskTrackerTool", "Terminate"])
def test_a_name_of_a_built_in_tool_gets_another_tool_until_it_is_unregistered(name, context, caplog):
    before = find_tool(name)
    own = builtin_names()[name]
    register_tool(name, named("own"))
    assert [tool.name for tool in resolve_tool(Tool(name), context)] == ["own"]
    assert f"{name!r} no longer means the built-in tool {own}" in caplog.text
    assert name in list_registered_tools()
    assert name == own or find_tool(own) is before
    unregister_tool(name)
    assert find_tool(name) is before
    with pytest.raises(ValueError, match="is built in"):
        unregister_tool(name)


@pytest.mark.parametrize("name", ["", " ", " own", "own ", None, 5], ids=repr)
def test_name_is_text_without_surrounding_spaces(name):
    with pytest.raises(ValueError, match="needs a name"):
        register_tool(name, ThinkTool())


@pytest.mark.parametrize("wrong", [3, "text", dict, None, [ThinkTool()], ToolBase, ToolDefinition])
def test_object_that_is_no_tool_cannot_be_registered(wrong):
    with pytest.raises(TypeError):
        register_tool("own", wrong)


def test_tool_without_executor_cannot_be_registered():
    bare = ToolDefinition(name="own", description="", action_type=ThinkTool().action_type)
    with pytest.raises(NotImplementedError):
        register_tool("own", bare)


def test_tools_open_by_name(context):
    tools = open_tools(context, FILE_TOOLS)
    assert tuple(tools) == FILE_TOOLS
    assert all(tool.executor is not None for tool in tools.values())


def test_every_built_in_tool_opens_with_a_simplified_schema(context):
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


def test_every_public_name_can_be_imported():
    names = [name for name in dir(workbench.tools) if not name.startswith("_")]
    assert {"BashTool", "FileEditorTool", "Tool", "Schema"} <= set(names)
    assert all(hasattr(workbench.tools, name) for name in names)


def test_failure_to_open_one_tool_closes_the_others(context):
    closed = []

    class Closing(ThinkTool):
        def close(self):
            closed.append(self.name)

    register_tool("own", Closing)
    with pytest.raises(UnknownTool):
        open_tools(context, ("own", "missing"))
    assert closed == ["think"]


def test_names_load_on_first_use():
    code = (
        "import sys, workbench.tools; assert 'pydantic' not in sys.modules; "
        "from workbench.tools import open_tools, ToolContext; open_tools(ToolContext('/'), ['think']); "
        "tools = [name for name in sys.modules if name.startswith('workbench.tools.')]; "
        "print([name for name in tools if name.endswith(('.definition', '.impl'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['workbench.tools.think.definition']"


def test_unknown_name_raises_attribute_error():
    with pytest.raises(AttributeError, match="Nothing"):
        workbench.tools.Nothing  # noqa: B018
    assert "open_tools" in dir(workbench.tools)


def test_registering_a_name_again_gives_it_the_new_tool(context):
    register_tool("own", ThinkTool())
    (before,) = resolve_tool(Tool("own"), context)
    register_tool("own", TaskTrackerTool)
    assert [tool.name for tool in resolve_tool(Tool("own"), context)] == ["task_tracker"]
    assert before.name == "think"


def test_failed_registration_keeps_the_registered_tool(context):
    register_tool("own", ThinkTool)
    with pytest.raises(TypeError):
        register_tool("own", "text")
    assert [tool.name for tool in resolve_tool(Tool("own"), context)] == ["think"]


def test_many_threads_register_and_unregister():
    names = [f"own{number}" for number in range(200)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: register_tool(name, ThinkTool), names))
        assert set(names) <= set(list_registered_tools())
        list(pool.map(unregister_tool, names))
    assert set(list_registered_tools()) == ALL_TOOLS


@pytest.mark.parametrize("name", ["nothing", "thinks", ""])
def test_unregistering_an_unknown_name_is_an_error(name):
    with pytest.raises(UnknownTool, match="There is no tool"):
        unregister_tool(name)


@pytest.mark.parametrize("name", sorted(builtin_names()))
def test_a_built_in_tool_cannot_be_unregistered_by_any_of_its_names(name):
    own = builtin_names()[name]
    with pytest.raises(ValueError, match=f"The tool '{own}' is built in"):
        unregister_tool(name)
    assert own in list_registered_tools()


def test_an_unknown_tool_is_a_usage_error_and_a_key_error(context):
    for kind in (UsageError, KeyError):
        with pytest.raises(kind) as caught:
            resolve_tool(Tool("nothing"), context)
        assert str(caught.value).startswith("There is no tool 'nothing'.")


@pytest.mark.parametrize(
    "values",
    [("",), ("  ",), (5,), (None,), (), ("a", [1]), ("a", "b"), ("a", {1: 2})],
    ids=["empty", "space", "number", "none", "missing", "list", "text", "key"],
)
def test_a_specification_needs_a_name_and_named_parameters(values):
    with pytest.raises(ValueError, match="Tool"):
        Tool(*values)


def test_specification_is_independent_plain_data():
    params = {"deep": {"list": [1]}}
    spec = Tool("own", params)
    params["deep"]["list"].append(2)
    assert spec.model_dump() == {"name": "own", "params": {"deep": {"list": [1]}}}
    assert Tool.model_validate_json(spec.model_dump_json()) == spec == Tool(name="own", params=spec.params)
    assert Tool("own", None) == Tool(name="own")
    assert len({spec, Tool("own", {"deep": {"list": [1]}}), Tool("other")}) == 2
    with pytest.raises(TypeError):
        Tool("own", {}, {})


def named(name: str) -> ToolDefinition:
    return ToolDefinition(name=name, description="", action_type=ThinkTool().action_type, executor=ThinkTool().executor)


def _marked(size: int, state: object) -> list[ToolDefinition]:
    assert isinstance(state, ToolContext)
    return [named(f"size{size}")]


def _positional(conv_state, size=1):
    return _marked(size, conv_state)


def _keyword_only(*, conv_state, size=1):
    return _marked(size, conv_state)


def _keyword_only_last(*, size=1, conv_state=None):
    return _marked(size, conv_state)


def _behind(size=1, conv_state=None):
    return _marked(size, conv_state)


def _other_name(state, size=1):
    return _marked(size, state)


def _other_name_optional(context=None, size=1):
    return _marked(size, context)


def _positional_only(state, /, size=1):
    return _marked(size, state)


def _own_name_positional_only(conv_state, /, **params):
    return _marked(params.get("size", 1), conv_state)


def _all_named(**params):
    return _marked(params.get("size", 1), params["conv_state"])


def _other_name_and_all(state, **params):
    return _marked(params.get("size", 1), state)


def _generator(conv_state, size=1):
    yield from _marked(size, conv_state)


def _single(conv_state, size=1):
    return _marked(size, conv_state)[0]


def _tuple(conv_state, size=1):
    return tuple(_marked(size, conv_state))


def _without_state(size=1):
    return [named(f"size{size}")]


FACTORIES = [
    _positional,
    _keyword_only,
    _keyword_only_last,
    _behind,
    _other_name,
    _other_name_optional,
    _positional_only,
    _own_name_positional_only,
    _all_named,
    _other_name_and_all,
    _generator,
    _single,
    _tuple,
    _without_state,
]


class _Callable:
    def __init__(self, make) -> None:
        self._make = make

    def __call__(self, *, conv_state, size=1):
        return self._make(conv_state=conv_state, size=size)


def _of_kind(kind, *, conv_state, size=1):
    assert kind == "kind"
    return _marked(size, conv_state)


def subclass(make, base):
    """Return a subclass of `base` with this factory as its `create`."""
    return type("Own", (base,), {"create": staticmethod(make)})


def class_method(make, base):
    @classmethod  # type: ignore[misc]
    def create(cls, *, conv_state, **params):
        return make(conv_state, **params)

    return type("Own", (base,), {"create": create})


FORMS = {
    "factory": lambda make: make,
    "tool class": lambda make: subclass(make, ToolDefinition),
    "base class": lambda make: subclass(make, ToolBase),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("make", FACTORIES, ids=lambda make: make.__name__)
def test_state_and_parameters_reach_every_signature(context, make, form):
    register_tool("own", form(make))
    assert [tool.name for tool in resolve_tool(Tool("own"), context)] == ["size1"]
    assert [tool.name for tool in resolve_tool(Tool("own", {"size": 3}), context)] == ["size3"]


@pytest.mark.parametrize(
    "make",
    [
        _Callable(_keyword_only),
        functools.partial(_of_kind, "kind"),
        lambda conv_state, size=1: _positional(conv_state, size),
        class_method(_positional, ToolDefinition),
        class_method(_positional, ToolBase),
    ],
    ids=["object", "partial", "lambda", "tool", "base"],
)
def test_state_and_parameters_reach_every_callable(context, make):
    register_tool("own", make)
    assert [tool.name for tool in resolve_tool(Tool("own", {"size": 3}), context)] == ["size3"]


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("params", [{"colour": 1}, {"conv_state": 1}], ids=["unknown", "state"])
def test_a_parameter_that_a_factory_does_not_take_is_a_usage_error(context, form, params):
    register_tool("own", form(_keyword_only))
    with pytest.raises(UsageError, match=next(iter(params))):
        resolve_tool(Tool("own", params), context)


@pytest.mark.parametrize(
    ("result", "kind"),
    [(None, "None"), ([1], "int"), ({"a": 1}, "dict"), ("text", "str"), (3, "int"), ([None], "None"), (ThinkTool, "")],
    ids=["none", "number", "dict", "text", "int", "none inside", "class"],
)
def test_a_factory_that_returns_something_else_is_a_usage_error(context, result, kind):
    register_tool("own", lambda conv_state: result)
    with pytest.raises(UsageError, match=f"'own' cannot be made: its factory returned .*{kind}"):
        resolve_tool(Tool("own"), context)


@pytest.mark.parametrize("result", [[], (), iter(())], ids=["list", "tuple", "iterator"])
def test_a_factory_may_return_no_tool(context, result):
    register_tool("own", lambda conv_state: result)
    assert list(resolve_tool(Tool("own"), context)) == []


@pytest.mark.parametrize("error", [RuntimeError("inside"), TypeError("inside"), KeyError("inside")], ids=repr)
def test_an_error_of_the_factorys_own_code_is_not_taken_for_wrong_parameters(context, error):
    def make(conv_state):
        raise error

    register_tool("own", make)
    with pytest.raises(type(error), match="inside"):
        resolve_tool(Tool("own"), context)


def test_a_class_may_read_parameters_that_its_constructor_does_not_take(context):
    class Greeting(ToolDefinition):
        @classmethod
        def create(cls, conv_state, **params):
            return [named(params["greeting"])]

    register_tool("own", Greeting)
    assert [tool.name for tool in resolve_tool(Tool("own", {"greeting": "hello"}), context)] == ["hello"]


@pytest.mark.parametrize("name", sorted(ALL_TOOLS))
def test_a_built_in_tool_resolves_by_the_name_of_its_class(name):
    manifest = manifest_of(name)
    assert find_tool(manifest.definition.partition(":")[2]) is find_tool(name)


CLASSES = {alias: name for alias, name in ALIASES.items() if name in builtin_names()}


@pytest.mark.parametrize(("alias", "name"), CLASSES.items(), ids=CLASSES)
def test_a_class_name_of_other_programs_resolves(alias, name):
    assert len(CLASSES) >= 15
    assert find_tool(alias) is find_tool(name)


@pytest.mark.parametrize(
    ("tool", "fits"),
    [
        (ThinkTool(), True),
        (ThinkTool().set_executor(lambda action: "own"), True),
        (type("Unusual", (ThinkTool,), {})(), True),
        (TaskTrackerTool(), True),
        ("own", True),
        ("think", False),
        ("openapi", False),
    ],
    ids=["built-in", "own executor", "subclass", "other", "own name", "foreign", "several"],
)
def test_the_name_of_a_built_in_tool_is_for_tools_that_its_rating_fits(tool, fits):
    assert stands_in(named(tool) if isinstance(tool, str) else tool) is fits


class Unusual(ThinkTool):
    pass


def test_registered_class_resolves_by_its_name_unless_ambiguous(context):
    register_tool("own", Unusual)
    register_tool("again", Unusual)
    assert [tool.name for tool in resolve_tool(Tool("Unusual"), context)] == ["think"]
    register_tool("other", type("Unusual", (ThinkTool,), {}))
    with pytest.raises(UnknownTool):
        resolve_tool(Tool("Unusual"), context)


@pytest.mark.parametrize("name", ["BashTool", "TerminalTool", "GrepTool", "PythonExecute"])
def test_tool_registered_by_its_class_name_precedes_the_built_in_one_with_a_warning(name, context, caplog):
    register_tool(name, ThinkTool)
    assert [tool.name for tool in resolve_tool(Tool(name), context)] == ["think"]
    assert f"'{name}' no longer means the built-in tool {builtin_names()[name]}" in caplog.text
    unregister_tool(name)
    with pytest.raises(ValueError, match="is built in"):
        unregister_tool(name)


def test_built_in_class_registered_by_its_own_name_needs_no_warning(context, caplog):
    register_tool("ThinkTool", ThinkTool)
    assert [tool.name for tool in resolve_tool(Tool("ThinkTool"), context)] == ["think"]
    assert not caplog.records


class Workspace:
    def __init__(self, path: str) -> None:
        self.working_dir = path


class ForeignState:
    """The state of a conversation as OpenHands has it: the workspace is an object."""

    def __init__(self, path: str) -> None:
        self.workspace = Workspace(path)


@pytest.mark.parametrize("name", sorted(ALL_TOOLS - {"openapi"}))
def test_a_built_in_tool_is_created_for_the_state_of_another_program(name, tmp_path):
    tools = resolve_tool(Tool(name), ForeignState(str(tmp_path)))
    for tool in tools:
        tool.close()
        assert tool.name == name


def test_workspace_has_the_attribute_that_openhands_factories_read(tmp_path):
    workspace: Any = ToolContext(str(tmp_path)).workspace
    assert workspace.working_dir == workspace == str(tmp_path)
