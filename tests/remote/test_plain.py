"""`ohw --plain ssh://HOST/PATH` in a pseudo terminal: the agent works there, lines are printed and typed here."""

from __future__ import annotations

import time

from tests.plain.test_plain import answer, asked, leave
from tests.remote.far_machine import FarMachine
from tests.remote.screens import events_there, lines_here, lines_there, session_here
from tests.sandbox import bash, finish, wait_for
from tests.terminal.terminal import Terminal
from workbench.protocol.events import ActionDecided, RunEnded, SettingsChanged, UserMessage

SHAPE = (100, 150)


def plain(far: FarMachine, *words: str) -> Terminal:
    """Start plain mode here."""
    return Terminal([*words, "--plain"], *SHAPE, far.near.env, cwd=far.near.project)


def decisions(far: FarMachine) -> list[tuple[str, str]]:
    """Return the decisions of the user there, with their notes."""
    decided = [event for event in events_there(far) if isinstance(event, ActionDecided) and event.by == "person"]
    return [(event.verdict, event.note) for event in decided]


def test_a_question_is_answered_here_line_by_line_and_the_command_runs_there(far: FarMachine):
    model = far.user.script(
        bash("touch rejected", risk="HIGH"), bash("pwd > here.txt", risk="HIGH"), finish("All done.")
    )
    with plain(far, far.url, "begin", "--model", model, "--mode", "high") as terminal:
        terminal.wait_for("Plain mode in /ssh:far:/")
        answer(terminal, "no")
        answer(terminal, "not that", "(optional):")
        answer(terminal, "yes")
        terminal.wait_for("All done.")
        leave(terminal)
        assert f"Resume with: ohw resume {session_here(far).id}" in terminal.text()
    assert (far.user.project / "here.txt").read_text().strip() == str(far.user.project)
    assert not (far.user.project / "rejected").exists()
    assert decisions(far) == [("rejected", "not that"), ("approved", "")]
    assert lines_here(far) == lines_there(far)
    with plain(far, "resume", session_here(far).id) as terminal:
        terminal.wait_for("All done.")
        leave(terminal)


def test_ctrl_c_stops_the_agent_there_over_the_same_connection(far: FarMachine):
    model = far.user.script(bash("touch begun; sleep 888"), finish("All done."))
    with plain(far, far.url, "begin", "--model", model, "--mode", "high") as terminal:
        wait_for((far.user.project / "begun").exists, "the command to run")
        links = far.ssh_processes()
        terminal.press("ctrl+c")
        terminal.wait_for("Stopping the agent. Ctrl+C again quits.")
        asked(terminal, "\n>")
        assert far.ssh_processes() == links
        assert "Connection to far lost" not in terminal.text()
        terminal.type("continue\n")
        terminal.wait_for("All done.")
        leave(terminal)
    assert [event.reason for event in events_there(far) if isinstance(event, RunEnded)] == ["interrupted", "finished"]
    assert lines_here(far) == lines_there(far)


def test_a_message_that_was_not_sent_says_so_and_the_prompt_returns(far: FarMachine):
    with plain(far, far.url, "--model", far.user.script(finish("All done."))) as terminal:
        asked(terminal, "\n>")
        far.link.cut()
        terminal.wait_for("Connection to far lost, reconnecting")
        terminal.type("begin with this\n")
        terminal.wait_for("Not sent: there is no connection to far")
        asked(terminal, "\n>")
        far.link.restore()
        terminal.wait_for("Connected to far again")
        terminal.type("begin with that\n")
        terminal.wait_for("All done.")
        leave(terminal)
    assert [event.text for event in events_there(far) if isinstance(event, UserMessage)] == ["begin with that"]


def test_the_mode_that_never_asks_is_confirmed_with_yes_alone(far: FarMachine):
    model = far.user.script(bash("touch it", risk="HIGH"), finish("All done."))
    for confirmation, modes in (("no", []), ("yes", ["never"])):
        with plain(far, far.url, "--model", model, "--mode", "never") as terminal:
            answer(terminal, confirmation, "Write yes or no:")
            asked(terminal, "\n>")
            time.sleep(0.1)
            terminal.type("begin\n")
            if not modes:
                answer(terminal, "no")
                answer(terminal, "", "(optional):")
            terminal.wait_for("All done.")
            leave(terminal)
            assert (far.user.project / "it").exists() == bool(modes)
            changed = [event.mode for event in events_there(far) if isinstance(event, SettingsChanged)]
            assert changed == modes
        for each in far.user.locations.sessions.iterdir():
            each.unlink()
