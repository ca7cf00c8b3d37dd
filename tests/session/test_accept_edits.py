"""Accept edits: built-in editors write in the workspace without a question, everything else asks from MEDIUM."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from workbench.protocol.events import ActionProposed
from workbench.rules.rule_set import RuleSet
from workbench.session.actions.assess import Rater
from workbench.session.state import State
from workbench.tools import BashTool, FileEditorTool, ToolDefinition
from workbench.tools.python_execute.definition import PythonExecuteTool

Ruled = Callable[..., tuple[str, str]]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    (work / "src").mkdir(parents=True)
    (work / "src/a.py").write_text("one = 1\n")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/file").write_text("shared\n")
    (work / "out").symlink_to(tmp_path / "outside", target_is_directory=True)
    (work / ".git/hooks").mkdir(parents=True)
    (work / "hooks").symlink_to(work / ".git/hooks", target_is_directory=True)
    (work / "shared.txt").hardlink_to(tmp_path / "outside/file")
    return work


@pytest.fixture
def ruled(work: Path) -> Iterator[Ruled]:
    """Return the effective risk and the verdict on a call."""
    tools: dict[str, ToolDefinition] = {
        tool.name: tool for tool in (BashTool(working_dir=str(work)), FileEditorTool(), PythonExecuteTool())
    }
    state = State()
    state.mode, state.workspace = "edits", str(work)
    rater = Rater(state, RuleSet())

    def rule(tool: str, declared: str = "LOW", **arguments: object) -> tuple[str, str]:
        proposed = ActionProposed(
            action_id="a", response_id="r", call_id="c", tool=tool, arguments=arguments, risk=declared
        )
        risk, ruling = rater.ruling(proposed, tools[tool])
        return risk, ruling.verdict

    yield rule
    for tool in tools.values():
        tool.close()


EDITS = {
    "create": {"command": "create", "file_text": "x"},
    "replace": {"command": "str_replace", "old_str": "one", "new_str": "two"},
    "insert": {"command": "insert", "insert_line": 0, "new_str": "x"},
}


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("name", ["src/a.py", "new.py", "src/deep/new.md"])
@pytest.mark.parametrize("declared", ["LOW", "MEDIUM"])
def test_edit_in_the_workspace_runs(ruled: Ruled, work: Path, edit: str, name: str, declared: str):
    assert ruled("str_replace_editor", declared, path=f"{work}/{name}", **EDITS[edit]) == ("MEDIUM", "allow")


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize(
    ("name", "declared"),
    [
        ("../outside/a.py", "LOW"),
        ("out/a.py", "LOW"),
        ("src/../../outside/a.py", "LOW"),
        (".git/hooks/pre-commit", "LOW"),
        ("hooks/pre-commit", "LOW"),
        (".vscode/tasks.json", "LOW"),
        (".github/workflows/ci.yml", "LOW"),
        ("AGENTS.md", "LOW"),
        ("shared.txt", "LOW"),
        ("src/a.py", "HIGH"),
        ("", "LOW"),
    ],
    ids=[
        "outside",
        "link",
        "dots",
        "hook",
        "hook link",
        "editor",
        "ci",
        "agents",
        "hard link",
        "declared",
        "workspace",
    ],
)
def test_any_other_edit_asks(ruled: Ruled, work: Path, edit: str, name: str, declared: str):
    assert ruled("str_replace_editor", declared, path=f"{work}/{name}", **EDITS[edit])[1] == "ask"


@pytest.mark.parametrize(
    ("command", "verdict"),
    [
        ("ls", "allow"),
        ("git status", "allow"),
        ("touch made", "ask"),
        ("echo x > src/a.py", "ask"),
        ("rm -rf ~", "ask"),
    ],
)
def test_commands_ask_from_medium(ruled: Ruled, command: str, verdict: str):
    assert ruled("execute_bash", command=command)[1] == verdict


def test_code_that_writes_a_file_is_no_edit(ruled: Ruled):
    assert ruled("python_execute", code="open('src/a.py', 'w').write('x')")[1] == "ask"
