"""Arguments that programs written for OpenHands pass to the shell and to the export of a tool."""

from typing import Any

import pytest

from tests.tools.shells import Bash
from workbench.tools import (
    BashExecutor,
    BashTool,
    ExecuteBashAction,
    Tool,
    ToolContext,
    ToolExecutor,
    execute_bash_tool,
    register_tool,
    resolve_tool,
    think_tool,
    unregister_tool,
)
from workbench.tools.execute_bash.shells import own_username
from workbench.tools.manifest import ALL_TOOLS
from workbench.tools.registry import find_tool


@pytest.mark.parametrize("kind", [BashExecutor, BashTool])
@pytest.mark.parametrize("terminal_type", [None, "tmux", "subprocess"])
def test_shell_takes_the_arguments_of_openhands(kind, terminal_type, tmp_path, local_sandbox):
    made: Any = kind(
        working_dir=str(tmp_path),
        username=own_username(),
        terminal_type=terminal_type,
        no_change_timeout_seconds=5,
    )
    seen = made(ExecuteBashAction.model_validate({"command": "pwd; whoami"}))
    made.close()
    assert seen.output == f"{tmp_path}\n{own_username()}\n"


@pytest.mark.parametrize("kind", [BashExecutor, BashTool])
@pytest.mark.parametrize("username", ["nobody-else", "ro\x1b[31mot", own_username().upper() + "x"], ids=["a", "b", "c"])
def test_another_user_is_refused_with_the_way_out(kind, username, tmp_path):
    with pytest.raises(ValueError, match=r"cannot run as .*Omit `username`") as refused:
        kind(working_dir=tmp_path, username=username)
    assert "\x1b" not in str(refused.value)


@pytest.mark.parametrize("kind", [BashExecutor, BashTool])
@pytest.mark.parametrize("terminal_type", ["", "screen", "TMUX"])
def test_unknown_terminal_type_is_refused_with_the_known_ones(kind, terminal_type, tmp_path):
    with pytest.raises(ValueError, match="'tmux' or 'subprocess'"):
        kind(working_dir=tmp_path, terminal_type=terminal_type)


@pytest.mark.parametrize("form", ["to_openai_tool", "to_responses_tool"])
@pytest.mark.parametrize(
    ("asked", "bash_has", "think_has"), [(None, True, False), (True, True, True), (False, False, False)]
)
def test_security_risk_is_exported_as_asked(form, asked, bash_has, think_has, tmp_path):
    def properties(tool: Any) -> dict[str, Any]:
        exported = getattr(tool, form)(add_security_risk_prediction=asked)
        parameters = exported.get("function", exported)["parameters"]
        assert ("security_risk" in parameters.get("required", ())) == ("security_risk" in parameters["properties"])
        return parameters["properties"]

    with Bash(tmp_path).tool as bash:
        assert ("security_risk" in properties(bash)) is bash_has
        assert "summary" in properties(bash)
    assert ("security_risk" in properties(think_tool)) is think_has


def test_action_visualizes_its_arguments_safely():
    action = ExecuteBashAction.model_validate({"command": "echo \x1b[2J [bold]", "timeout": 3})
    assert action.visualize.plain == "command: echo \\e[2J [bold]\ntimeout: 3.0"


class Recorder(ToolExecutor):
    """An executor that several tools share."""

    def __call__(self, action):
        raise ValueError(f"shared by {type(action).__name__}")


@pytest.mark.parametrize("name", sorted(ALL_TOOLS - {"openapi"}))
def test_every_tool_is_created_with_an_executor_that_is_given(name, tmp_path):
    kind: Any = find_tool(name)
    executor, context = Recorder(), ToolContext(str(tmp_path))
    (made,), (named,) = kind.create(context, executor=executor), kind.create(conv_state=context, executor=executor)
    (resolved,) = resolve_tool(Tool(kind.__name__, {"executor": executor}), context)
    assert made.executor is named.executor is resolved.executor is executor
    assert type(made) is kind
    assert made.name == name
    assert f"shared by {made.action_type.__name__}" in made(made.action_type.model_construct()).text
    with pytest.raises(TypeError, match="executor or parameters: omit size"):
        kind.create(context, executor=executor, size=3)


@pytest.mark.parametrize("kind", [BashExecutor, BashTool])
def test_timeout_limits_calls_that_have_none_of_their_own(kind, tmp_path, local_sandbox):
    made: Any = kind(working_dir=str(tmp_path), timeout=0.5)
    limited = made(ExecuteBashAction(command="while :; do echo x; read -t 0.1 <> <(:); done", timeout=None))
    assert (limited.timed_out, limited.timeout, limited.exit_code) == (True, True, -1)
    assert "did not end within 0.5 seconds" in limited.text
    made(ExecuteBashAction(command="C-c", is_input=True))
    assert made(ExecuteBashAction(command="echo done", timeout=60)).output == "done\n"
    made.close()


@pytest.mark.parametrize("kind", [BashExecutor, BashTool])
@pytest.mark.parametrize("timeout", [0, -1.0, float("nan")])
def test_timeout_that_is_none_is_refused(kind, timeout, tmp_path):
    with pytest.raises(ValueError, match="above 0"):
        kind(working_dir=tmp_path, timeout=timeout)


def test_shell_is_described_with_its_timeout(tmp_path):
    (limited,) = BashTool.create(ToolContext(str(tmp_path)), timeout=120)
    (resolved,) = resolve_tool(Tool("TerminalTool", {"timeout": 120}), ToolContext(str(tmp_path)))
    for tool in (limited, resolved):
        assert "without `timeout` the call comes back after 120 seconds" in tool.description
        assert "After 120 s (or `timeout`)" in tool.short_description
    assert "once nothing new was printed for 30 seconds" in BashTool(tmp_path).description


def test_tools_of_one_factory_share_a_shell(tmp_path, local_sandbox):
    def shells(conv_state):
        executor = BashExecutor(working_dir=conv_state.workspace.working_dir, no_change_timeout=7)
        return [BashTool.create(conv_state, executor=executor)[0], execute_bash_tool.set_executor(executor)]

    register_tool("TwoShells", shells)
    first, second = resolve_tool(Tool(name="TwoShells"), ToolContext(str(tmp_path)))
    unregister_tool("TwoShells")
    with first, second:
        first({"command": "shared=yes; cd /"})
        seen: Any = second({"command": "echo $shared; pwd"})
    assert seen.output == "yes\n/\n"
    assert all("7 s" in each.description for each in (first, second))
    assert "30 s" in execute_bash_tool.description
