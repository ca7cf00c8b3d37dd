"""The demo's script played against the real tools in the real project, for every possible decision."""

import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from workbench.agent.agent import Agent
from workbench.agent.responses import ReadCall, read_response
from workbench.demo import DEMO_MODEL, DEMO_PROMPT, copy_demo
from workbench.errors import UsageError
from workbench.llm.factory import open_model
from workbench.llm.model import Cancel
from workbench.tools.context import ToolContext
from workbench.tools.registry import open_tools

Decide = Callable[[ReadCall], str | None]
"""Returns None to approve, or the note of a rejection ("" without one)."""


class Play:
    """A minimal agent loop: decide on each call, run it, return the result."""

    def __init__(self, project: Path, state: Path) -> None:
        self.project = project
        self.tools = open_tools(ToolContext(str(project), state))
        self.agent = Agent(open_model(DEMO_MODEL), self.tools, project)
        self.messages: list[dict[str, Any]] = [{"role": "user", "content": DEMO_PROMPT}]
        self.calls: list[ReadCall] = []
        self.results: list[str] = []
        self.texts: list[str] = []

    def run(self, decide: Decide) -> None:
        for _ in range(30):
            response = self.agent.respond(self.messages, lambda delta: None, Cancel())
            self.texts.append(response.text)
            calls = read_response(response, self.tools, {call.call_id for call in self.calls})
            self.messages.append(self._answer(response.text, calls))
            for call in calls:
                assert call.error == ""
                self.calls.append(call)
                self._settle(call, decide(call))
            if not calls or calls[-1].tool == "finish":
                return
        raise AssertionError("the script does not end")

    def _answer(self, text: str, calls: tuple[ReadCall, ...]) -> dict[str, Any]:
        tool_calls = [
            {"id": c.call_id, "type": "function", "function": {"name": c.tool, "arguments": "{}"}} for c in calls
        ]
        return {"role": "assistant", "content": text, **({"tool_calls": tool_calls} if tool_calls else {})}

    def _settle(self, call: ReadCall, note: str | None) -> None:
        assert call.action is not None
        if note is None:
            observation = self.tools[call.tool](call.action)
            assert not observation.is_error, observation.text
            result = observation.text
        else:
            note_text = f" The user's note: {note}" if note else ""
            result = f"The user rejected this action; it was not run.{note_text}"
        self.results.append(result)
        self.messages.append({"role": "tool", "tool_call_id": call.call_id, "content": result})

    def file(self, name: str) -> str:
        return (self.project / name).read_text()

    def tests_pass(self) -> bool:
        command = [sys.executable, "-B", "-m", "unittest"]
        return subprocess.run(command, cwd=self.project, capture_output=True, timeout=60, check=False).returncode == 0


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Play]:
    monkeypatch.setenv("OHW_SCRIPT_PACE", "0")
    for name in ("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"):
        monkeypatch.delenv(name, raising=False)
    played = Play(copy_demo(tmp_path / "ledger"), tmp_path / "state")
    yield played
    for tool in played.tools.values():
        tool.close()


def edits_of(call: ReadCall, name: str) -> bool:
    return call.arguments.get("command") == "str_replace" and call.arguments["path"].endswith(name)


def test_approving_everything_fixes_the_cause(play):
    before = play.file("tests/test_report.py")
    play.run(lambda call: None)
    assert play.tests_pass()
    assert play.file("tests/test_report.py") == before
    assert any("My edit only hid the fault" in text for text in play.texts)
    assert any("balance: 3,359.85" in result for result in play.results)
    assert any("balance: 1,440.15" in result for result in play.results)
    assert not (play.project / "ledger/__pycache__").exists()
    assert play.calls[-1].tool == "finish"


def test_rejected_edit_leads_to_an_answer_and_another_edit(play):
    before = play.file("tests/test_report.py")
    play.run(lambda call: "do not touch the tests" if edits_of(call, "test_report.py") else None)
    assert any("“do not touch the tests”" in text for text in play.texts)
    assert play.file("tests/test_report.py") == before
    assert 'found["sign"]' in play.file("ledger/amounts.py")
    assert play.tests_pass()
    assert play.calls[-1].tool == "finish"


def test_rejection_without_a_note_gets_an_answer(play):
    play.run(lambda call: "" if edits_of(call, "test_report.py") else None)
    assert any("Rejected, and rightly" in text for text in play.texts)
    assert play.tests_pass()


def test_rejecting_the_correct_edit_leads_to_a_variant_of_it(play):
    first: list[str] = []

    def decide(call: ReadCall) -> str | None:
        if edits_of(call, "test_report.py"):
            return "no"
        if edits_of(call, "amounts.py"):
            first.append(call.call_id)
            return "shorter please" if len(first) == 1 else None
        return None

    play.run(decide)
    assert len(first) == 2
    assert "* (-1 if" in play.file("ledger/amounts.py")
    assert play.tests_pass()


def test_rejecting_everything_changes_nothing_and_ends_with_a_question(play):
    before = {path: path.read_bytes() for path in play.project.rglob("*.py")}
    play.run(lambda call: "no")
    assert {path: path.read_bytes() for path in play.project.rglob("*.py")} == before
    assert play.texts[-1].endswith("How shall I go on?")
    play.messages.append({"role": "user", "content": "you decide"})
    play.run(lambda call: None)
    assert "I am a script" in play.texts[-1]


@pytest.mark.parametrize(("note", "kept"), [(None, False), ("keep them", True)])
def test_risky_command_may_be_approved_or_rejected(play, note, kept):
    play.run(lambda call: note if call.risk == "HIGH" else None)
    assert (play.project / "tests/__pycache__").exists() is kept
    (risky,) = [call for call in play.calls if call.risk == "HIGH"]
    assert risky.arguments["command"].startswith("rm -rf ")
    assert ("were kept" in play.results[-1]) is kept
    assert play.calls[-1].tool == "finish"


def test_failing_test_runs_before_any_change(play):
    play.run(lambda call: None)
    tools = [(call.tool, call.arguments.get("command", "")) for call in play.calls]
    first_edit = next(at for at, (_, command) in enumerate(tools) if command == "str_replace")
    assert ("execute_bash", "python3 -m unittest") in tools[:first_edit]
    assert "AssertionError: 325000 != 155000" in play.results[tools.index(("execute_bash", "python3 -m unittest"))]
    assert tools[0][0] == "task_tracker"


def test_every_call_states_its_purpose_and_risk(play):
    play.run(lambda call: None)
    assert all(call.summary for call in play.calls)
    risks = {call.risk for call in play.calls if not play.tools[call.tool].is_read_only}
    assert {"LOW", "MEDIUM", "HIGH"} <= risks


def test_copy_is_private_and_has_one_commit(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    directory = copy_demo()
    assert directory.parent.parent == tmp_path.resolve()
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert (directory / ".gitignore").read_text().startswith("__pycache__/")
    log = subprocess.run(["git", "log", "--oneline"], cwd=directory, capture_output=True, text=True, check=True).stdout
    status = subprocess.run(["git", "status", "-s"], cwd=directory, capture_output=True, text=True, check=True).stdout
    assert len(log.splitlines()) == 1
    assert status == ""


def test_copy_works_without_git(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    directory = copy_demo(tmp_path / "demo")
    assert (directory / "ledger/amounts.py").exists()
    assert not (directory / ".git").exists()


def test_target_directory_with_files_is_refused(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match="not empty"):
        copy_demo(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
