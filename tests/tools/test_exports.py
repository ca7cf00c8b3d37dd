"""The public names of the tools: all are exported, under the names their users have for them, and load on first use."""

import ast
import inspect
import pkgutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import workbench.mcp
import workbench.tools
from workbench.tools import (
    Action,
    BashExecutor,
    BashTool,
    CmdOutputMetadata,
    ExecuteBashAction,
    ExecuteBashObservation,
    FileEditorExecutor,
    FileEditorTool,
    Observation,
    StrReplaceEditorAction,
    ToolBase,
    ToolExecutor,
    execute_bash_tool,
)
from workbench.tools.exports import ALIASES, EXPORTS, OF_SERVERS
from workbench.tools.manifest import ALL_TOOLS
from workbench.tools.tool import MissingExecutor

VIEW = StrReplaceEditorAction.model_validate({"command": "view", "path": "a.txt"})
_PROGRAMS = (".program", ".kernel", ".worker")


def public_classes() -> dict[str, str]:
    """Return the classes of the four kinds in all modules of tools, each with its module."""
    classes = {}
    for module in pkgutil.walk_packages(workbench.tools.__path__, "workbench.tools."):
        if not module.name.endswith(_PROGRAMS):
            for name, value in vars(import_module(module.name)).items():
                is_own = inspect.isclass(value) and value.__module__ == module.name and not name.startswith("_")
                if is_own and issubclass(value, Action | Observation | ToolExecutor | ToolBase):
                    classes[name] = module.name
    return classes


def test_every_class_of_a_tool_is_exported_from_the_module_that_defines_it():
    exported = {name: f"workbench.tools.{module}" for module, names in EXPORTS.items() for name in names}
    classes = public_classes()
    assert len(classes) > 70
    assert {name: exported.get(name) for name in classes} == classes


def test_type_checkers_see_the_same_names():
    tree = ast.parse(Path(str(workbench.tools.__file__)).read_text())
    seen = {each.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for each in node.names}
    aliases = {
        ast.unparse(node.targets[0]): ast.unparse(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name)
    }
    assert aliases == ALIASES
    named = (seen | set(aliases) | set(OF_SERVERS)) - {"annotations", "TYPE_CHECKING", "exports_of"}
    assert set(workbench.tools.__all__) == named


@pytest.mark.parametrize("name", OF_SERVERS)
def test_names_of_servers_are_those_of_their_package(name):
    assert getattr(workbench.tools, name) is getattr(workbench.mcp, name)
    assert set(OF_SERVERS) == set(workbench.mcp.__all__)


def test_names_of_servers_cost_nothing_until_they_are_used():
    code = (
        "import sys, workbench.tools; from workbench.tools import BashTool; "
        "print(any(name.startswith('workbench.mcp') for name in sys.modules)); "
        "from workbench.tools import MCPClient; print('workbench.mcp.client' in sys.modules, 'mcp' in sys.modules)"
    )
    assert python(code) == "False\nTrue False"


def python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_star_import_gives_exactly_the_public_names():
    names = python("from workbench.tools import *; print(*sorted(name for name in dir() if name[0] != '_'))").split()
    assert names == sorted(workbench.tools.__all__)
    assert {"ExecuteBashAction", "TaskTrackerExecutor", "think_tool", "Tool"} <= set(names)


@pytest.mark.parametrize("tool", sorted(ALL_TOOLS))
def test_package_of_a_tool_exports_the_names_of_that_tool(tool):
    package = import_module(f"workbench.tools.{tool}")
    assert {"MANIFEST", "NAME"} <= set(package.__all__) <= set(dir(package))
    assert all(getattr(package, name) is not None for name in package.__all__)
    own = {name for module, names in EXPORTS.items() if module.startswith(f"{tool}.") for name in names}
    aliases = {alias for alias, name in ALIASES.items() if name in own}
    assert set(package.__all__) == own | aliases | {"MANIFEST", "NAME"}
    assert all(getattr(package, name) is getattr(workbench.tools, name) for name in own)
    with pytest.raises(AttributeError, match=f"'workbench.tools.{tool}' has no attribute 'nothing'"):
        package.nothing  # noqa: B018


def test_packages_of_tools_load_their_code_on_first_use():
    names = ", ".join(f"workbench.tools.{tool}" for tool in sorted(ALL_TOOLS))
    code = (
        f"import sys, {names}; print([name for name in sys.modules if name in ('pydantic', 'pexpect', 'asyncio') "
        "or name.startswith('workbench.tools.') and name.endswith(('.definition', '.impl'))]); "
        "from workbench.tools.execute_bash import BashTool; print('workbench.tools.execute_bash.impl' in sys.modules)"
    )
    assert python(code) == "[]\nFalse"


KINDS = ("Action", "Observation", "Executor", "Tool")


@pytest.mark.parametrize("tool", sorted(ALL_TOOLS - {"openapi"}))
def test_each_name_that_a_tool_has_is_one_of_all_its_classes(tool):
    own = [name for module, names in EXPORTS.items() if module.startswith(f"{tool}.") for name in names]
    stems = {name.removesuffix(kind) for name in own for kind in ("Action", "Tool") if name.endswith(kind)}
    names = {f"{stem}{kind}" for stem in stems for kind in KINDS}
    assert len(names) >= 4
    assert names - set(workbench.tools.__all__) == set()
    for kind in KINDS:
        assert len({getattr(workbench.tools, f"{stem}{kind}") for stem in stems}) == 1


@pytest.mark.parametrize("name", ["Glob", "Grep", "PythonExecute", "IPython", "Bash"])
def test_executors_take_the_directory_as_in_openhands(name, tmp_path):
    (tmp_path / "mine.txt").write_text("pattern\n")
    kind, action = (getattr(workbench.tools, f"{name}{each}") for each in ("Executor", "Action"))
    executor = kind(working_dir=str(tmp_path))
    argument = {"Glob": {"pattern": "*"}, "Grep": {"pattern": "pat"}, "Bash": {"command": "ls"}}.get(
        name, {"code": "import os; print(os.listdir())"}
    )
    try:
        assert "mine.txt" in executor(action.model_validate(argument)).text
    finally:
        executor.close()


@pytest.mark.parametrize("name", ["BashTool", "FileEditorTool", "TaskTrackerTool", "GlobTool", "GrepTool", "ThinkTool"])
def test_a_tool_is_created_without_a_conversation_for_the_current_directory(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tool,) = getattr(workbench.tools, name).create()
    arguments = {
        "BashTool": {"command": "pwd"},
        "GlobTool": {"pattern": "*"},
        "FileEditorTool": {"command": "view", "path": "a"},
    }
    with tool:
        text = tool(arguments[name]).text if name in arguments else str(tmp_path)
    assert str(tmp_path) in text


@pytest.mark.parametrize(("alias", "name"), ALIASES.items(), ids=ALIASES)
def test_names_of_other_programs_are_aliases_of_ours(alias, name):
    assert getattr(workbench.tools, alias) is getattr(workbench.tools, name)
    assert alias in workbench.tools.__all__


@pytest.mark.parametrize(
    "name",
    [
        *("BashTool", "FileEditorTool", "TaskTrackerTool", "resolve_tool", "list_registered_tools"),
        *("register_tool", "unregister_tool"),
    ],
)
def test_program_has_the_common_names_of_tools_too(name):
    assert getattr(workbench, name) is getattr(workbench.tools, name)
    assert name in dir(workbench)


def test_aliases_are_also_in_the_package_of_their_tool():
    assert import_module("workbench.tools.execute_bash").TerminalTool is BashTool


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("execute_bash_tool", "BashTool"),
        ("str_replace_editor_tool", "FileEditorTool"),
        ("task_tracker_tool", "TaskTrackerTool"),
        ("think_tool", "ThinkTool"),
        ("finish_tool", "FinishTool"),
        ("glob_tool", "GlobTool"),
        ("grep_tool", "GrepTool"),
        ("terminal_tool", "BashTool"),
    ],
)
def test_definition_without_an_executor_has_the_same_schema(name, kind):
    definition, tool = getattr(workbench.tools, name), getattr(workbench.tools, kind)()
    assert definition.executor is None
    for form in ("to_openai_tool", "to_mcp_tool"):
        assert getattr(definition, form)() == getattr(tool, form)()
    with pytest.raises(MissingExecutor):
        definition({})
    ready = definition.set_executor(executor=tool.executor)
    assert ready.as_executable() is ready
    assert definition.executor is None
    tool.close()


def command(line: str) -> ExecuteBashAction:
    return ExecuteBashAction.model_validate({"command": line})


def test_shell_works_with_the_names_of_openhands(tmp_path, local_sandbox):
    executor = BashExecutor(working_dir=str(tmp_path))
    tool: Any = execute_bash_tool.set_executor(executor=executor)
    with tool:
        good = tool(command("echo hello"))
        bad = executor(command("(exit 3)"))
    assert (good.output, good.metadata.exit_code, good.timeout, good.error) == ("hello\n", 0, False, False)
    assert good.metadata.working_dir == str(tmp_path.resolve())
    assert good.command_id == good.metadata.pid > 0
    assert good.metadata.suffix.startswith("[The command completed with exit code 0.]")
    assert good.text == f"{good.metadata.prefix}hello\n{good.metadata.suffix}"
    assert (bad.metadata.exit_code, bad.exit_code) == (3, 3)


@pytest.mark.parametrize("name", ["no_change_timeout", "no_change_timeout_seconds"])
def test_no_change_timeout_has_two_names(name, tmp_path, local_sandbox):
    options: dict[str, Any] = {name: 0.2}
    with BashTool(tmp_path, **options) as tool:
        assert "0.2 seconds" in tool.description
        late: Any = tool({"command": "sleep 60"})
    executor = BashExecutor(tmp_path, **options)
    again = executor(command("sleep 60"))
    executor.close()
    assert late.timeout
    assert again.timeout
    assert late.metadata.exit_code == again.metadata.exit_code == -1


@pytest.mark.parametrize("is_late", [True, False])
def test_shell_observation_accepts_timeout_by_either_name(is_late):
    by_name = ExecuteBashObservation.model_validate({"output": "a", "timeout": is_late})
    assert by_name == ExecuteBashObservation(output="a", timed_out=is_late)
    assert by_name.timeout is is_late
    assert "timeout" not in by_name.model_dump()
    assert CmdOutputMetadata().exit_code == -1


@pytest.mark.parametrize("name", ["workspace", "workspace_root"])
@pytest.mark.parametrize("kind", [FileEditorTool, FileEditorExecutor])
def test_editor_accepts_two_names_for_its_directory(kind, name, tmp_path):
    editor: Any = kind(**{name: str(tmp_path)})
    result = editor(VIEW)
    assert str(tmp_path / "a.txt") in result.text


def test_editor_works_in_the_current_directory_by_default(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = FileEditorExecutor()(VIEW)
    assert str(tmp_path / "a.txt") in result.text
