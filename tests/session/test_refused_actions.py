"""An effect that the user refused is not caused by other means in the same run without a question."""

from pathlib import Path

import pytest

from workbench.config.modes import MODE_NAMES
from workbench.protocol.events import ActionAssessed, ActionDecided, ActionProposed, RunEnded, UserMessage
from workbench.rules.rule_set import RuleSet
from workbench.session.actions.assess import Rater
from workbench.session.actions.refusals import RULE, Refusals
from workbench.session.state import State
from workbench.tools import BashTool, FileEditorTool
from workbench.tools.python_execute.definition import PythonExecuteTool


class Bench:
    """A session in a mode that never asks, in which one action was refused."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.count = directory, 0
        self.state = State()
        self.state.mode, self.state.workspace = "never", str(directory)
        self.state.apply(UserMessage(text="go"))
        self.rater = Rater(self.state, RuleSet())
        self.tools = {
            tool.name: tool for tool in (BashTool(working_dir=str(directory)), FileEditorTool(), PythonExecuteTool())
        }

    def proposed(self, tool: str, **arguments: object) -> ActionProposed:
        self.count += 1
        name = f"a{self.count}"
        return ActionProposed(action_id=name, response_id="r", call_id=name, tool=tool, arguments=arguments, risk="LOW")

    def refuse(self, tool: str, by: str = "person", **arguments: object) -> None:
        proposed = self.proposed(tool, **arguments)
        name = proposed.action_id
        self.state.apply(proposed)
        self.state.apply(ActionAssessed(action_id=name, risk="MEDIUM", working_dir=str(self.directory)))
        self.state.apply(ActionDecided(action_id=name, verdict="rejected", by=by))

    def asked(self, tool: str, **arguments: object) -> str:
        """Return the reason of the question, empty if the action runs without one."""
        _, ruling = self.rater.ruling(self.proposed(tool, **arguments), self.tools[tool])
        assert (ruling.verdict, ruling.rule) in [("ask", RULE), ("allow", f'mode "{MODE_NAMES["never"]}"')]
        return ruling.reason


@pytest.fixture
def bench(tmp_path: Path):
    made = Bench(tmp_path)
    yield made
    for tool in made.tools.values():
        tool.close()


def test_refused_edit_is_not_made_by_shell_or_code(bench, tmp_path):
    bench.refuse("str_replace_editor", command="create", path=str(tmp_path / "conf.ini"), file_text="x")
    assert "refused before: str_replace_editor" in bench.asked("execute_bash", command="sed -i s/a/b/ conf.ini")
    assert bench.asked("execute_bash", command="echo x > conf.ini")
    assert bench.asked("python_execute", code="open('conf.ini', 'w').write('x')")
    assert bench.asked("str_replace_editor", command="create", path=str(tmp_path / "conf.ini"), file_text="y")
    assert not bench.asked("execute_bash", command="cat conf.ini"), "reading it does not do what was refused"
    assert not bench.asked("execute_bash", command="echo x > other.ini")


@pytest.mark.parametrize("by", ["person", "rule"])
def test_refused_command_is_not_run_in_another_line_or_by_code(bench, by):
    bench.refuse("execute_bash", by, command="git push origin")
    assert bench.asked("execute_bash", command="ls && git push origin")
    assert bench.asked("execute_bash", command="sh -c 'git push origin'")
    assert bench.asked("python_execute", code="subprocess.run(['git', 'push', 'origin'])")
    assert not bench.asked("execute_bash", command="git commit -m x")


def test_new_run_forgets_earlier_refusals(bench):
    bench.refuse("execute_bash", command="make clean")
    assert bench.asked("execute_bash", command="make clean")
    bench.state.apply(UserMessage(text="and now do it"))
    assert bench.asked("execute_bash", command="make clean"), "a word to the same run changes nothing"
    bench.state.apply(RunEnded(reason="finished"))
    bench.state.apply(UserMessage(text="clean up"))
    assert not bench.asked("execute_bash", command="make clean")


def test_parents_refusals_apply_to_its_sub_agents(bench, tmp_path):
    bench.refuse("execute_bash", command="git push origin")
    child = Bench(tmp_path)
    assert not child.asked("execute_bash", command="git push origin")
    child.rater = Rater(child.state, RuleSet(), Refusals(child.state, Refusals(bench.state)))
    assert child.asked("execute_bash", command="git push origin")
    for tool in child.tools.values():
        tool.close()
