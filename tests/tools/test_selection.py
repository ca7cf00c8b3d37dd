"""The tools of a session: sets, single lines, parameters, own tools; and the messages about the rest."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.errors import UsageError
from workbench.tools import (
    BUILTIN_TOOLS,
    Action,
    ThinkAction,
    ThinkTool,
    ToolContext,
    ToolDefinition,
    list_registered_tools,
    register_tool,
    unregister_tool,
)
from workbench.tools.factories import settable
from workbench.tools.selection import Selection, checked_params, choose, select_tools
from workbench.tools.trust import agree, agreed, fingerprint, is_trusted

FILE = Path("/somewhere/settings.toml")
GREET = """
from __future__ import annotations

from pydantic import Field

from workbench.tools import Action, Observation, ToolAnnotations, ToolDefinition, ToolExecutor

print("a tool must not speak on stdout")


class Greet(Action):
    name: str = Field(description="Whom to greet.")


class Greeter(ToolExecutor[Greet, Observation]):
    def __init__(self, word: str):
        self.word = word

    def __call__(self, action):
        return Observation.from_text(f"{self.word} {action.name}")

    def close(self):
        raise OSError("cannot close")


class GreetTool(ToolDefinition[Greet, Observation]):
    def __init__(self, word: str = "hello", times: int = 1, reads: bool = False):
        annotations = ToolAnnotations(readOnlyHint=reads)
        executor = Greeter(word * times)
        super().__init__(
            name="greet", description="Greets.", action_type=Greet, annotations=annotations, executor=executor
        )


tool = GreetTool
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / ".ohw/tools").mkdir(parents=True)
    return tmp_path


def own(place: Path, **files: str) -> None:
    for name, text in files.items():
        (place / f".ohw/tools/{name}.py").write_text(text)


def select(place: Path, trust: bool = True, **table: Any) -> Selection:
    settings = Settings(tools=table, trusted=(fingerprint(place),) if trust else ())
    selection = select_tools(settings, FILE, ToolContext(str(place)))
    selection.close()
    return selection


def why(selection: Selection, name: str) -> str:
    return next(f"{'on' if state.is_on else 'off'}: {state.why}" for state in selection.states if state.name == name)


def test_session_has_the_default_tools_and_lists_the_others(place):
    selection = select(place)
    assert tuple(selection.tools) == BUILTIN_TOOLS
    assert {state.name for state in selection.states} == set(list_registered_tools())
    assert why(selection, "execute_bash") == "on: by default"
    assert all(why(selection, name) == "off: by default" for name in {*list_registered_tools()} - {*BUILTIN_TOOLS})
    assert selection.notices == ()


def test_each_tool_can_be_switched_even_by_an_older_name(place):
    selection = select(place, bash=False, think=False)
    assert tuple(selection.tools) == tuple(name for name in BUILTIN_TOOLS if name not in ("execute_bash", "think"))
    assert why(selection, "execute_bash") == "off: your settings"


def test_tool_that_is_off_by_default_can_be_enabled(place):
    choices, _ = choose({"finish": True})
    assert next(choice for choice in choices if choice.name == "finish").why == "your settings"
    for name in {*list_registered_tools()} - {*BUILTIN_TOOLS}:
        choices, _ = choose({name: True})
        assert next(choice for choice in choices if choice.name == name).is_on


def test_plan_set_has_the_reading_tools_and_the_task_list(place):
    selection = select(place, set="plan")
    assert "task_tracker" in selection.tools
    assert all(tool.is_read_only for tool in selection.tools.values())
    assert "execute_bash" not in selection.tools
    assert why(selection, "execute_bash") == 'off: it can change things, and the set is "plan"'
    assert why(selection, "think") == 'on: the set "plan"'


def test_entry_for_a_tool_overrides_the_set(place):
    selection = select(place, set="plan", execute_bash=True, think=False)
    assert "execute_bash" in selection.tools
    assert "think" not in selection.tools
    assert tuple(select(place, set="code").tools) == BUILTIN_TOOLS


def test_table_for_a_tool_sets_parameters_and_enables_it_unless_off(place):
    selection = select(place, execute_bash={"no_change_timeout": 60})
    assert selection.tools["execute_bash"].executor is not None
    assert why(selection, "execute_bash") == "on: your settings"
    assert "execute_bash" not in select(place, execute_bash={"on": False, "no_change_timeout": 60}).tools


def test_shell_description_names_the_configured_silence(place):
    tool = select(place, execute_bash={"no_change_timeout": 47}).tools["execute_bash"]
    assert "47 seconds" in tool.description
    assert "47 s" in tool.short_description
    with pytest.raises(UsageError, match=r"tools\.execute_bash\.no_change_timeout cannot be 0: input should"):
        select(place, execute_bash={"no_change_timeout": 0})


def test_parameters_reach_the_tool(place):
    own(place, greet=GREET)
    tool = select(place, greet={"word": "hi", "times": 2}).tools["greet"]
    assert tool(tool.action_from_arguments({"name": "you"})).text == "hihi you"


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"execute_bash": {"no_change_timeout": "soon"}}, "tools.execute_bash.no_change_timeout cannot be 'soon'"),
        ({"execute_bash": {"no_chnge_timeout": 3}}, "did you mean no_change_timeout?"),
        ({"bash": {"on": "yes"}}, "tools.execute_bash.on must be true or false, not 'yes'"),
        ({"think": {"size": 3}}, "tools.think.size is not a parameter; the tool takes none"),
        ({"execute_bsh": False}, "tools.execute_bsh: there is no such tool; did you mean execute_bash?"),
        ({"bash": True, "execute_bash": {}}, "tools.execute_bash says again"),
        ({"greet": {"times": "many"}}, "tools.greet.times cannot be 'many'"),
        ({"greet": {"colour": "red"}}, "tools.greet.colour is not a parameter; it takes reads, times, word"),
    ],
)
def test_invalid_entry_is_an_error_that_names_file_and_key(place, table, message):
    own(place, greet=GREET)
    with pytest.raises(UsageError) as error:
        select(place, **table)
    assert str(error.value).startswith(f"{FILE}: tools.")
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_tool_of_another_directory_is_only_mentioned(place):
    selection = select(place, weather={"city": "Ulm"})
    assert selection.notices == (f"{FILE}: tools.weather: there is no such tool here",)
    assert tuple(selection.tools) == BUILTIN_TOOLS


def test_trusted_directory_provides_its_tools(place, capsys):
    own(place, greet=GREET, _helper="raise SystemExit")
    selection = select(place)
    tool = selection.tools["greet"]
    assert tool(tool.action_from_arguments({"name": "you"})).text == "hello you"
    assert why(selection, "greet") == "on: by default"
    assert selection.notices == ()
    assert capsys.readouterr().out == ""
    assert not list((place / ".ohw").rglob("*.pyc"))


def test_plan_set_trusts_the_read_only_hint_of_own_tools(place):
    own(place, greet=GREET)
    assert "greet" not in select(place, set="plan").tools
    own(place, greet=GREET.replace("reads: bool = False", "reads: bool = True"))
    assert "greet" in select(place, set="plan").tools


def test_nothing_of_an_untrusted_directory_runs_and_that_is_reported(place):
    own(place, greet="from pathlib import Path; Path(__file__).with_name('ran').touch()")
    selection = select(place, trust=False)
    assert tuple(selection.tools) == BUILTIN_TOOLS
    (notice,) = selection.notices
    assert f'trusted = ["{place}"]' in notice
    assert str(FILE) in notice
    assert not (place / ".ohw/tools/ran").exists()


def test_only_the_named_directory_with_its_first_content_is_trusted(place, tmp_path_factory):
    own(place, greet=GREET)
    base = tmp_path_factory.mktemp("elsewhere")
    where = Locations.from_environment({"HOME": str(base)})

    def offered(*named: str) -> bool:
        trusted = (*named, *agreed(where, named))
        return "greet" in select_tools(Settings(trusted=trusted), FILE, ToolContext(str(place))).tools

    for directory in (str(place.parent), str(place / ".ohw"), "relative", "~nobody-here", "/\0", ""):
        assert not offered(directory)
    link = base / "link"
    link.symlink_to(place)
    assert offered(str(link))
    own(place, greet=GREET + "\n# more\n")
    assert not offered(str(link), str(place))
    own(place, greet=GREET)
    assert offered(str(place))


def test_files_added_to_a_named_empty_directory_are_not_trusted(tmp_path):
    where = Locations.from_environment({"HOME": str(tmp_path / "home")})
    place = tmp_path / "place"
    (place / ".ohw/tools").mkdir(parents=True)
    named = [str(place)]
    assert not is_trusted(place, agreed(where, named))
    own(place, greet=GREET)
    assert not is_trusted(place, agreed(where, named))
    agree(where, place, fingerprint(place))
    assert is_trusted(place, agreed(where, named))


def test_disabled_tool_is_not_loaded(place):
    own(place, greet="raise RuntimeError('loaded')")
    selection = select(place, greet=False)
    assert selection.notices == ()
    assert why(selection, "greet") == "off: your settings"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import nothing_there", "ModuleNotFoundError"),
        ("def broken(", "SyntaxError"),
        ("raise SystemExit(3)", "SystemExit"),
        ("1 / 0", "ZeroDivisionError"),
        ("x = '\\ud800'.encode()", "UnicodeEncodeError"),
        ("", "sets no `tool`"),
        ("tool = 3", "TypeError"),
        ("tool = dict", "TypeError"),
        ("tool = lambda conv_state: [3]", "an object of type int among its tools"),
        ("tool = lambda conv_state: 3", "an object of type int instead of tools"),
        ("tool = lambda conv_state: []", "nothing here to work with"),
        ("def tool(conv_state): raise OSError('no\\nnet')", "OSError: no"),
        (GREET.replace('name="greet"', 'name="execute_bash"'), "that built-in tool are rated by its name"),
        (GREET.replace('name="greet"', 'name="two words"'), "or none"),
        (
            GREET + "tool = ToolDefinition(name='greet', description='', action_type=Greet)",
            "The tool 'greet' has no executor",
        ),
        (GREET + "Greet.to_mcp_schema = classmethod(lambda cls: {'properties': {'x': {1, 2}}})", "TypeError"),
    ],
)
def test_failing_own_tool_is_omitted_and_reported_in_one_line(place, text, message):
    own(place, broken=text, greet=GREET)
    selection = select(place)
    (notice,) = selection.notices or ("nothing",)
    assert message in notice
    assert f"the tool broken of {place}/.ohw/tools/broken.py is ignored" in notice
    assert "\n" not in notice
    assert tuple(selection.tools) == (*BUILTIN_TOOLS, "greet")
    assert why(selection, "broken").startswith("off: it failed")


@pytest.mark.parametrize("name", ["execute_bash", "terminal", "two words", "1st"])
def test_own_tool_needs_a_valid_unused_name(place, name):
    own(place, **{name: GREET})
    selection = select(place)
    assert tuple(selection.tools) == BUILTIN_TOOLS
    assert len(selection.notices) == 1
    assert f"the tool {name} of " in selection.notices[0]


def test_two_files_that_provide_the_same_tool_provide_it_once(place):
    own(place, greet=GREET, hail=GREET)
    selection = select(place)
    assert "greet" in selection.tools
    assert len(selection.notices) == 1
    assert "calls itself 'greet'" in selection.notices[0]


def test_invalid_entry_closes_tools_already_open(place):
    own(place, aaa=GREET.replace('raise OSError("cannot close")', "Path(__file__).with_name('closed').touch()"))
    text = (place / ".ohw/tools/aaa.py").read_text().replace("import Field", "import Field\nfrom pathlib import Path")
    own(place, aaa=text, zzz=GREET)
    with pytest.raises(UsageError):
        select(place, zzz={"nothing": 1})
    assert (place / ".ohw/tools/closed").exists()


def test_error_on_close_is_logged_and_stops_nothing(place, caplog):
    own(place, greet=GREET)
    select(place)
    assert "greet could not be closed" in caplog.text


class Free:
    def __init__(self, size: int) -> None:
        self.size = size


def make(conv_state: object, size: int = 1, made: Free | None = None, **more: Any) -> list[Any]:
    """A factory with a parameter that no settings file can express."""
    return [conv_state, size, made, more]


def test_parameters_of_a_factory_come_from_its_type_hints():
    assert settable(make)[1]
    assert checked_params(make, {"size": "3", "colour": "red"}) == {"size": 3, "colour": "red"}
    with pytest.raises(UsageError, match="made cannot be set here"):
        checked_params(make, {"made": 3})


def test_module_of_a_projects_tool_is_importable_by_its_classes(place):
    own(place, greet=GREET)
    tool = select(place).tools["greet"]
    assert sys.modules[tool.action_type.__module__].__file__ == str(place / ".ohw/tools/greet.py")
    assert json.dumps(tool.to_openai_tool())


def test_tools_are_filtered_by_name(place):
    own(place, greet=GREET)
    selection = select(place, filter_tools_regex="gr", execute_ipython_cell=True)
    assert set(selection.tools) == {"grep", "greet", "finish", "think", "request_condensation"}
    assert (
        why(selection, "glob") == why(selection, "execute_ipython_cell") == "off: excluded by tools.filter_tools_regex"
    )
    assert selection.notices == ()


def another(name: str) -> ToolDefinition:
    return ToolDefinition(name=name, description="", action_type=Action, executor=lambda action: "another")


@pytest.fixture
def replaced() -> Iterator[Callable[[Any], None]]:
    """Registers another tool by the name of a built-in one until the test ends."""
    yield lambda tool: register_tool("think", tool)
    unregister_tool("think")


def test_a_tool_registered_by_a_built_in_name_takes_its_place_in_new_sessions(place, replaced):
    before = select(place)
    replaced(another("ponder"))
    assert "think" in before.tools
    assert tuple(select(place).tools) == tuple("ponder" if name == "think" else name for name in BUILTIN_TOOLS)
    replaced(ThinkTool().set_executor(lambda action: {"content": "own"}))
    assert select(place).tools["think"](ThinkAction(thought="?")).text == "own"


def test_a_session_refuses_another_tool_that_calls_itself_like_a_built_in_one(place, replaced):
    replaced(another("think"))
    selection = select(place)
    assert tuple(selection.tools) == tuple(name for name in BUILTIN_TOOLS if name != "think")
    (notice,) = selection.notices
    assert notice.startswith(
        "the tool think is ignored: it calls itself 'think', but calls of that built-in tool are rated"
    )
