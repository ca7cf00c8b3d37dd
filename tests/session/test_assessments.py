"""A command is rated once between the model's answer and its start, and again when anything it depends on changes."""

import ast
from collections import Counter
from pathlib import Path

import pytest

from tests.contracts.source import ROOT
from tests.session.fake_agent import calls, says
from workbench.files import recorded_stat
from workbench.risk import assess
from workbench.session.assessments import Assessments
from workbench.session.state import State
from workbench.tools import BashTool


@pytest.fixture
def rated(monkeypatch) -> Counter:
    """Count how often each command is rated."""
    count: Counter = Counter()

    def counted(tool, arguments, context):
        count[arguments.get("command")] += 1
        return assess(tool, arguments, context)

    monkeypatch.setattr("workbench.session.assessments.assess", counted)
    return count


@pytest.fixture
def with_bash(harness, tmp_path):
    tools = []

    def make(*script, **more):
        one = harness(*script, **more)
        tools.append(BashTool(working_dir=str(tmp_path)))
        one.tools["execute_bash"] = tools[-1]
        return one

    yield make
    for tool in tools:
        tool.close()


def command(text: str):
    return calls(("execute_bash", {"command": text}))


@pytest.mark.parametrize("text", ["cat a.txt", "mkdir -p made/deep", "cp a.txt b.txt && cat b.txt"])
def test_command_allowed_by_a_mode_is_rated_once_until_it_runs(with_bash, tmp_path, rated, text):
    (tmp_path / "a.txt").write_text("x\n")
    one = with_bash(command(text), says("done"), mode="never")
    one.session.send("go")
    one.run()
    assert [event.ran for event in one.log() if event.kind == "action_observed"] == [True]
    assert rated[text] == 1


def test_command_that_needs_approval_is_rated_once_until_it_runs(with_bash, tmp_path, rated):
    one = with_bash(command("mkdir made"), says("done"), mode="ask")
    one.session.send("go")
    one.run()
    one.answer()
    assert (tmp_path / "made").is_dir()
    assert rated["mkdir made"] == 1


def test_link_retargeted_after_the_question_is_rated_again(with_bash, tmp_path, rated):
    (tmp_path / "inside").mkdir()
    (tmp_path / "target").symlink_to(tmp_path / "inside")
    one = with_bash(command("touch target/new.txt"), says("done"), mode="ask")
    one.session.send("go")
    one.run()
    (tmp_path / "target").unlink()
    (tmp_path / "target").symlink_to("/usr/share")
    one.answer()
    assert rated["touch target/new.txt"] == 2
    assert one.session.question is not None, "it is asked about again, because it is more dangerous now"
    assert one.session.question.assessed.risk == "HIGH"


def test_script_changed_after_the_question_is_asked_about_again(with_bash, tmp_path, rated):
    script = tmp_path / "run.sh"
    script.write_text("echo one > out.txt\n")
    one = with_bash(command("sh run.sh"), says("done"), mode="ask")
    one.session.send("go")
    one.run()
    script.write_text("echo two > out.txt\n")
    one.answer()
    assert one.session.question is not None
    assert not (tmp_path / "out.txt").exists()


def test_modes_and_rules_are_applied_to_a_reused_rating(with_bash, tmp_path, rated):
    one = with_bash(command("mkdir made"), command("mkdir made"), says("done"), mode="never")
    one.session.send("go")
    one.hook = lambda event: event.kind == "action_observed" and one.session._log.state.__setattr__("mode", "ask")
    one.run()
    assert one.session.question is not None


@pytest.mark.parametrize(
    ("text", "name", "change"),
    [
        ("cp .env.example .env", ".env", lambda path: path.write_text("x")),
        ("cp new.py made.py", "made.py", lambda path: path.symlink_to("/etc")),
    ],
)
def test_change_at_a_path_that_a_rating_depends_on_causes_a_new_rating(tmp_path, rated, text, name, change):
    state = State()
    state.workspace = str(tmp_path)
    tool = BashTool(working_dir=str(tmp_path))
    known = Assessments(state)
    for _ in range(3):
        known.of(tool, {"command": text})
    assert rated[text] == 1
    change(tmp_path / name)
    known.of(tool, {"command": text})
    assert rated[text] == 2
    tool.close()


def test_contradictory_recorded_answers_are_invalid(tmp_path):
    path = tmp_path / "a"
    with recorded_stat.recording() as found:
        assert not recorded_stat.exists(str(path))
        path.touch()
        assert recorded_stat.exists(str(path))
    assert not found.hold()


_QUESTIONS = {"stat", "lstat", "scandir", "listdir", "readlink", "access", "walk", "real_path"}
_PATH_QUESTIONS = {"exists", "lexists", "isfile", "isdir", "islink", "realpath", "getsize", "samefile"}
_METHODS = {"exists", "is_file", "is_dir", "is_symlink", "read_text", "read_bytes", "iterdir", "rglob", "resolve"}


_SCANS = {f"protected_{name}" for name in ("changes", "entries", "files", "repositories", "state")}


def test_ratings_query_the_file_system_only_through_recorded_functions():
    """Every file that a rating depends on is recorded; otherwise an outdated rating could be reused."""
    asked = []
    for path in sorted((ROOT / "workbench/risk").rglob("*.py")):
        if path.stem in _SCANS or "executed_files" in path.parts:
            continue  # the files that an approval is bound to are read again each time
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call):
                continue
            name = ast.unparse(node.func)
            last = name.rpartition(".")[2]
            is_asked = name == "open" or name in {f"os.{each}" for each in _QUESTIONS} | {"real_path"}
            is_asked |= name in {f"os.path.{each}" for each in _PATH_QUESTIONS}
            is_asked |= last in _METHODS and "Path" in name
            if is_asked:
                asked.append(f"{Path(path).relative_to(ROOT)}:{node.lineno} {name}")
    assert asked == []
