"""The local rating decides what is asked about; a lower risk declared by the model does not count."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from workbench.protocol.events import ActionProposed
from workbench.risk.assessment import Assessment, Part
from workbench.rules.rule_set import RuleSet
from workbench.session.actions.assess import MOST_SEGMENTS, Rater, reasons, segments
from workbench.session.state import State
from workbench.tools import BashTool, FileEditorTool, ToolDefinition
from workbench.tools.grep.definition import GrepTool

ALLOWED = "python3 -m unittest"


class Bench:
    """A rater with the real tools, in a directory of its own."""

    def __init__(self, directory: Path, mode: str) -> None:
        self.directory = directory
        self.tools: dict[str, ToolDefinition] = {
            tool.name: tool for tool in (BashTool(working_dir=str(directory)), FileEditorTool())
        }
        ledger = State()
        ledger.mode, ledger.workspace = mode, str(directory)
        ledger.rules = (f"allow $ {ALLOWED}",)
        self.rater = Rater(ledger, RuleSet())

    def ruled(self, tool: str, declared: str, **arguments: object) -> tuple[str, str]:
        """Return the effective risk and the verdict."""
        proposed = ActionProposed(
            action_id="a", response_id="r", call_id="c", tool=tool, arguments=arguments, risk=declared
        )
        risk, ruling = self.rater.ruling(proposed, self.tools[tool])
        return risk, ruling.verdict

    def command(self, command: str, declared: str = "LOW") -> tuple[str, str]:
        return self.ruled("execute_bash", declared, command=command)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path, "medium")
    yield made
    for tool in made.tools.values():
        tool.close()


def test_dangerous_command_asks_although_the_model_says_low(bench):
    assert bench.command("rm -rf ~") == ("HIGH", "ask")
    assert bench.command("touch made") == ("MEDIUM", "ask")


def test_harmless_command_runs_only_if_the_model_agrees(bench):
    assert bench.command("ls") == ("LOW", "allow")
    assert bench.command("ls", "MEDIUM") == ("MEDIUM", "ask")
    assert bench.command("ls", "HIGH") == ("HIGH", "ask")


def test_missing_model_rating_leaves_the_local_one(bench):
    assert bench.command("ls", "UNKNOWN") == ("LOW", "allow")
    assert bench.command("rm -rf ~", "UNKNOWN") == ("HIGH", "ask")


def test_files_are_rated_by_their_location(bench, tmp_path):
    def edit(path: Path, command: str = "create") -> tuple[str, str]:
        return bench.ruled("str_replace_editor", "LOW", command=command, path=str(path), file_text="x")

    assert edit(tmp_path / "a.py", "view") == ("LOW", "allow")
    assert edit(tmp_path / "a.py") == ("MEDIUM", "ask")
    assert edit(tmp_path / ".git/hooks/pre-commit") == ("HIGH", "ask")
    assert edit(Path.home() / ".bashrc") == ("HIGH", "ask")
    (tmp_path / "way").symlink_to(tmp_path / ".git", target_is_directory=True)
    assert edit(tmp_path / "way/config") == ("HIGH", "ask")


def test_allow_rule_applies_only_to_the_exact_command(bench, tmp_path):
    assert bench.command(ALLOWED) == ("MEDIUM", "allow")
    assert bench.command(ALLOWED, "HIGH") == ("HIGH", "ask")
    assert bench.command(f"{ALLOWED} tests") == ("MEDIUM", "ask")
    always = Bench(tmp_path, "ask")
    assert always.command(ALLOWED) == ("MEDIUM", "ask")


def test_parts_of_a_long_command_are_selected_by_risk_in_order():
    parts = tuple(Part(f"c{at}", "HIGH" if at == 90 else "LOW") for at in range(100))
    parts_left = segments(Assessment("HIGH", ("x",), parts))
    assert len(parts_left) == MOST_SEGMENTS
    assert [part.text for part in parts_left][-1] == "c90"
    assert [part.text for part in parts_left][:3] == ["c0", "c1", "c2"]


def test_each_reason_is_shown_once():
    alone = Assessment("MEDIUM", ("deletes files",), (Part("rm a", "MEDIUM", "deletes files"),))
    both = Assessment("MEDIUM", ("deletes files",), (*alone.parts, Part("ls", "LOW", "")))
    assert (segments(alone), reasons(alone, shows_diff=False)) == ((), ("deletes files",))
    assert reasons(alone, shows_diff=True) == ()
    assert [segment.text for segment in segments(both)] == ["rm a", "ls"]
    assert reasons(both, shows_diff=False) == ()
    secret = Assessment("HIGH", ("writes a protected file",))
    assert reasons(secret, shows_diff=True) == ("writes a protected file",)


def test_search_is_asked_about_if_it_reads_elsewhere_or_secrets(bench, tmp_path):
    bench.tools["grep"] = GrepTool(str(tmp_path))
    (tmp_path / "way").symlink_to(Path.home())
    assert bench.ruled("grep", "UNKNOWN", pattern="x") == ("LOW", "allow")
    assert bench.ruled("grep", "UNKNOWN", pattern="/x/", path="src") == ("LOW", "allow")
    assert bench.ruled("grep", "UNKNOWN", pattern="x", path="~/.ssh") == ("HIGH", "ask")
    assert bench.ruled("grep", "UNKNOWN", pattern="x", path=str(Path.home())) == ("HIGH", "ask")
    assert bench.ruled("grep", "UNKNOWN", pattern="x", path="way") == ("HIGH", "ask")
    assert bench.ruled("grep", "UNKNOWN", pattern="x", path="/srv/other")[1] == "ask"
