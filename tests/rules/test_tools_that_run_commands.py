"""Rules for commands apply to every tool that runs commands, not only to the shell."""

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from workbench.risk import RatingContext, assess
from workbench.rules.protected_writes import unplaced_write
from workbench.rules.rule import parse_rule
from workbench.rules.rule_set import deciding
from workbench.rules.subject import Subject, subject_of
from workbench.tools import (
    Action,
    BashTool,
    IPythonTool,
    Observation,
    PythonExecuteTool,
    ToolAnnotations,
    ToolDefinition,
)
from workbench.tools.effects import AssessmentContext, Effect, RunsCommand


class Task(Action):
    """A command line."""

    target: str


class TaskTool(ToolDefinition[Task, Observation]):
    """Runs command lines; from another package."""

    def __init__(self) -> None:
        super().__init__(
            name="tasks",
            description="Run a task.",
            action_type=Task,
            observation_type=Observation,
            annotations=ToolAnnotations(),
        )

    def assess(self, arguments: Mapping[str, Any], context: AssessmentContext) -> Iterable[Effect]:
        """Return the command that the call runs as an effect."""
        return (RunsCommand(str(arguments["target"])),)


def subject(tool: ToolDefinition, arguments: Mapping[str, Any], directory: str) -> Subject:
    rated = assess(tool, arguments, RatingContext(directory))
    return subject_of(tool.name, arguments, rated, directory, "/home/u")


def verdict(rule: str, tool: ToolDefinition, arguments: Mapping[str, Any], directory) -> str:
    result = deciding([parse_rule(rule)], subject(tool, arguments, str(directory)))
    return result.verdict if result else "none"


PUSHES = [
    (TaskTool, {"target": "git push origin main"}),
    (TaskTool, {"target": "cd src && sh -c 'git -C . push'"}),
    (IPythonTool, {"code": "!git push"}),
    (IPythonTool, {"code": "x = !git push"}),
    (IPythonTool, {"code": "%%bash\ngit push"}),
    (IPythonTool, {"code": "%system git push"}),
    (IPythonTool, {"code": "import subprocess\nsubprocess.run(['git', 'push'])"}),
    (PythonExecuteTool, {"code": "import subprocess\nsubprocess.run(['git', 'push', '-f'])"}),
    (PythonExecuteTool, {"code": "import subprocess\nsubprocess.check_call('git push', shell=True)"}),
    (PythonExecuteTool, {"code": "from subprocess import Popen as p\np(('git', '-C', '.', 'push'))"}),
    (PythonExecuteTool, {"code": "import os\nos.system('git push')"}),
    (PythonExecuteTool, {"code": "import os\nos.execvp('git', ['git', 'push'])"}),
    (PythonExecuteTool, {"code": "import asyncio\nasyncio.run(asyncio.create_subprocess_exec('git', 'push'))"}),
]


@pytest.mark.parametrize(("tool", "arguments"), PUSHES)
@pytest.mark.parametrize("kind", ["deny", "ask"])
def test_command_rule_applies_to_every_tool_that_runs_commands(tmp_path, tool, arguments, kind):
    assert verdict(f"{kind} $ git push *", tool(), arguments, tmp_path) == kind
    assert verdict(f"{kind} execute_bash $ git push *", tool(), arguments, tmp_path) == kind


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        (TaskTool, {"target": "git status"}),
        (IPythonTool, {"code": "!git status"}),
        (PythonExecuteTool, {"code": "print('git push')"}),
    ],
)
def test_other_commands_of_such_tools_are_not_denied(tmp_path, tool, arguments):
    assert verdict("deny $ git push *", tool(), arguments, tmp_path) != "deny"


def test_commands_known_only_at_run_time_are_asked_about(tmp_path):
    assert verdict("deny $ git push *", TaskTool(), {"target": "git $VERB"}, tmp_path) == "ask"
    (tmp_path / "push.sh").write_text("git push\n")
    assert verdict("deny $ git push *", TaskTool(), {"target": "sh push.sh"}, tmp_path) == "ask"
    assert verdict("deny $ git push *", IPythonTool(), {"code": "!sh push.sh"}, tmp_path) == "ask"


def test_command_that_takes_in_a_whole_directory_is_asked_about(tmp_path):
    (tmp_path / "secret").mkdir()
    for tool, arguments in [(TaskTool, {"target": "rm -r ."}), (IPythonTool, {"code": "!grep -r x ."})]:
        assert verdict("deny in secret/**", tool(), arguments, tmp_path) in {"ask", "deny"}


def test_command_allow_rule_allows_only_the_shell(tmp_path):
    assert verdict("allow $ pytest *", TaskTool(), {"target": "pytest -q"}, tmp_path) == "none"
    assert verdict("allow $ pytest *", BashTool(), {"command": "pytest -q"}, tmp_path) == "allow"


def test_writes_of_such_a_tool_to_unknown_paths_are_asked_about_in_every_mode(tmp_path):
    for tool, arguments in [
        (TaskTool, {"target": "cp x $d/pre-commit"}),
        (IPythonTool, {"code": "%%bash\ncp x $d/pre-commit"}),
    ]:
        assert unplaced_write(subject(tool(), arguments, str(tmp_path)))
