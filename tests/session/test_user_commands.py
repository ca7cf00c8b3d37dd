"""Shell commands of the user and mentioned files: logged and sent to the model, without any question."""

import threading
from pathlib import Path

import pytest

from tests.sandbox import wait_for
from tests.session.fake_agent import calls, faults_of, says
from workbench.protocol.events import UserCommand
from workbench.session.mentions import LONGEST, attached_text, read_mentions
from workbench.session.session import CommandError
from workbench.session.turn.message_history import messages
from workbench.tools import BashTool


@pytest.fixture
def bash_harness(harness, tmp_path):
    """A session with a real shell."""
    made = []

    def open_harness(*script, **more):
        one = harness(*script, **more)
        one.tools["execute_bash"] = tool = BashTool(working_dir=str(tmp_path))
        made.append(tool)
        return one

    yield open_harness
    for tool in made:
        tool.close()


def test_own_command_runs_unasked_in_every_mode_and_starts_no_run(bash_harness, tmp_path):
    one = bash_harness(mode="ask")
    one.session.user_commands.add("echo by hand > made; cat made")
    one.run()
    assert one.kinds() == ["session_started", "person_command", "action_started", "action_observed"]
    assert "by hand" in one.results()[0]
    assert (tmp_path / "made").read_text() == "by hand\n"
    assert one.session.phase == "idle"


def test_model_is_told_about_an_own_command_and_its_output(bash_harness):
    one = bash_harness(says("I see."))
    one.session.user_commands.add("echo sea; false")
    one.run()
    one.session.send("look")
    one.run()
    sent = messages(one.log())
    assert faults_of(sent) == []
    assert "$ echo sea; false" in sent[0]["content"]
    assert "exit code 1" in sent[0]["content"]
    assert sent[1]["content"] == "look"


def test_own_commands_share_the_agents_shell_directory(bash_harness, tmp_path):
    (tmp_path / "sub").mkdir()
    one = bash_harness(calls(("execute_bash", {"command": "pwd"})), says("ok"), mode="never")
    one.session.user_commands.add("cd sub")
    one.run()
    one.session.send("where are you")
    one.run()
    assert str(tmp_path / "sub") in one.results()[1]


def test_own_command_runs_during_a_question_which_stays_open(bash_harness, tmp_path):
    one = bash_harness(calls(("note", {"text": "a"})), says("ok"), mode="ask")
    one.session.send("note it")
    one.run()
    question = one.session.question
    one.session.user_commands.add("touch made")
    one.run()
    assert (tmp_path / "made").exists()
    assert one.session.question is not None
    assert one.session.question.proposed == question.proposed
    one.answer()
    assert one.notes == ["a"]
    assert faults_of(messages(one.log())) == []


def test_own_command_waits_for_the_running_action(bash_harness, tmp_path):
    command = "touch begun; while [ ! -e go ]; do sleep 0.05; done"
    one = bash_harness(calls(("execute_bash", {"command": command})), says("ok"), mode="never")
    one.session.send("wait")
    thread = threading.Thread(target=one.run)
    thread.start()
    wait_for((tmp_path / "begun").exists, "the action to run")
    one.session.user_commands.add("echo second")
    assert one.kinds()[-1] == "person_command"
    (tmp_path / "go").touch()
    thread.join(60)
    assert not thread.is_alive()
    ran = [event.action_id for event in one.log() if event.kind == "action_observed"]
    assert ran[1].startswith("own_")
    assert not ran[0].startswith("own_")


def test_own_command_can_be_stopped(bash_harness, tmp_path):
    one = bash_harness()
    one.session.user_commands.add("touch begun; sleep 600")
    thread = threading.Thread(target=one.run)
    thread.start()
    wait_for((tmp_path / "begun").exists, "the command to run")
    one.session.interrupt()
    thread.join(60)
    assert not thread.is_alive()
    assert one.kinds()[-1] in ("action_observed", "action_abandoned")
    assert not one.session.user_commands.is_waiting


def test_own_command_queued_before_a_stop_is_not_run_later(bash_harness, tmp_path):
    one = bash_harness()
    one.session.user_commands.add("touch made")
    one.reopen()
    one.run()
    assert not (tmp_path / "made").exists()
    assert "stopped before its turn" in one.results()[0]
    assert not one.session.user_commands.is_waiting


def test_empty_own_command_or_missing_shell_is_refused(harness):
    one = harness()
    with pytest.raises(CommandError, match="no command"):
        one.session.user_commands.add("  ")
    with pytest.raises(CommandError, match="execute_bash"):
        one.session.user_commands.add("ls")
    assert not any(isinstance(event, UserCommand) for event in one.log())


def test_mentioned_files_reach_the_model_as_they_were_on_sending(harness, tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.py").write_text("one = 1\n")
    one = harness(says("ok"))
    one.session.send("explain @src/a.py and @src", ["src/a.py", "src"])
    (tmp_path / "src/a.py").write_text("changed\n")
    (message,) = messages(one.log())
    assert message["content"].startswith("explain @src/a.py and @src\n\n")
    assert "one = 1" in message["content"]
    assert "[The user mentions src. It contained this then:]\na.py\n" in message["content"]
    assert "changed" not in message["content"]


def test_large_binary_and_outside_files_are_only_named_or_omitted(harness, tmp_path: Path):
    directory = tmp_path / "work"
    directory.mkdir()
    (tmp_path / "secret").write_text("of somebody\n")
    (directory / "link").symlink_to(tmp_path / "secret")
    (directory / "large").write_text("x" * (LONGEST + 1))
    (directory / "bytes").write_bytes(b"\xff\x00\xfe")
    mentions = read_mentions(str(directory), ["large", "bytes", "link", "../secret", "nothing", "large"])
    assert [(file.path, file.text) for file in mentions] == [("large", None), ("bytes", None)]
    assert "read it with your tools" in attached_text(mentions)
