"""The link to the other machine is cut: nothing is lost, nothing comes twice, and no command is lost silently."""

from __future__ import annotations

import os
import signal
import time

import pytest

from tests.remote.far_machine import FarMachine
from tests.remote.screens import (
    answer,
    events_there,
    lines_here,
    lines_there,
    opened,
    quit_screen,
    quit_when_finished,
    send,
    session_here,
    started,
)
from tests.sandbox import bash, finish, wait_for
from workbench.protocol.events import ActionDecided, UserMessage

WORDS = " ".join(f"word{number:02}" for number in range(60))
LOST, BACK = "Connection to far lost, reconnecting", "Connected to far again"


def test_a_stream_goes_on_where_it_was_cut(far: FarMachine):
    far.set(OHW_SCRIPT_PACE="3")
    with started(far, far.user.script(bash("true") | {"text": WORDS}, finish("End."))) as terminal:
        send(terminal, "begin")
        terminal.wait_for("word05")
        far.link.cut()
        terminal.wait_for(LOST)
        far.link.restore()
        shown = terminal.wait_for(BACK)
        assert shown.count("word00") <= 1
        terminal.wait_for("word59")
        shown = terminal.wait_for("Finished")
        assert [shown.count(word) for word in WORDS.split()] == [1] * 60
        quit_screen(terminal)
    assert lines_here(far) == lines_there(far)


def test_a_question_waits_while_the_link_is_cut_and_an_answer_meanwhile_is_refused(far: FarMachine):
    script = far.user.script(bash("touch approved", risk="HIGH"), finish("All done."))
    with started(far, script) as terminal:
        send(terminal, "begin")
        terminal.wait_for("y Approve")
        (engine,) = far.user.engines()
        far.link.cut()
        terminal.wait_for(LOST)
        answer(terminal)
        terminal.wait_for("Not sent: there is no connection to far")
        assert not (far.user.project / "approved").exists()
        far.link.restore()
        terminal.wait_for(BACK)
        assert far.user.engine().pid == engine.pid
        answer(terminal)
        quit_when_finished(terminal)
    assert sum(isinstance(event, ActionDecided) for event in events_there(far)) == 2
    assert lines_here(far) == lines_there(far)


def test_a_message_is_refused_into_the_prompt_and_sent_later(far: FarMachine):
    with started(far, far.user.script(finish("All done."))) as terminal:
        far.link.cut()
        terminal.wait_for(LOST)
        send(terminal, "begin with this")
        terminal.wait_for("Not sent: there is no connection to far")
        far.link.restore()
        terminal.wait_for(BACK)
        terminal.press("enter")
        terminal.wait_for("All done.")
        quit_screen(terminal)
    assert [event.text for event in events_there(far) if isinstance(event, UserMessage)] == ["begin with this"]


def test_a_link_that_died_silently_is_replaced_and_an_answer_that_was_lost_reported(far: FarMachine):
    script = far.user.script(bash("touch approved", risk="HIGH"), finish("All done."))
    with started(far, script) as terminal:
        send(terminal, "begin")
        terminal.wait_for("y Approve")
        far.link.freeze()
        answer(terminal)
        assert not terminal.wait_for(LOST).count("did not arrive")
        far.link.restore()
        terminal.wait_for("What you sent last did not arrive on far")
        assert not (far.user.project / "approved").exists()
        # The other machine still has the first connection, which must not keep the control.
        answer(terminal)
        quit_when_finished(terminal)
    assert (far.user.project / "approved").exists()
    assert lines_here(far) == lines_there(far)


def test_an_empty_session_leaves_no_copy(far: FarMachine):
    with started(far, far.user.script(finish("All done."))) as terminal:
        quit_screen(terminal)
    assert not list(far.near.locations.sessions.glob("*.session"))


def test_a_killed_ssh_is_replaced(far: FarMachine):
    with started(far, far.user.script(finish("All done."))) as terminal:
        (ssh,) = far.ssh_processes()
        began = time.monotonic()
        os.kill(ssh, signal.SIGKILL)
        terminal.wait_for(BACK)
        assert time.monotonic() - began < 10
        send(terminal, "begin")
        terminal.wait_for("All done.")
        quit_screen(terminal)
    wait_for(lambda: not far.ssh_processes(), "no ssh to run any more")


def test_a_changed_host_key_ends_the_attempts_and_says_so(far: FarMachine):
    with started(far, far.user.script(finish("All done."))) as terminal:
        send(terminal, "begin")
        terminal.wait_for("All done.")
        far.new_host_key()
        far.link.cut()
        far.link.restore()
        shown = terminal.wait_for("Host key verification failed")
        assert "read-only" in shown
        assert "All done." in shown
        send(terminal, "more")
        terminal.wait_for("Not sent: there is no connection to far")
        quit_screen(terminal)
    # The copy is read without a connection.
    with opened(far, "resume", session_here(far).id) as terminal:
        shown = terminal.wait_for("Host key verification failed")
        terminal.wait_for("All done.")
        quit_screen(terminal)


@pytest.mark.starts
def test_an_unreachable_machine_leaves_its_sessions_readable(far: FarMachine):
    with started(far, far.user.script(finish("All done."))) as terminal:
        send(terminal, "begin")
        terminal.wait_for("All done.")
        quit_screen(terminal)
    far.link.cut()
    with opened(far, "resume", session_here(far).id) as terminal:
        terminal.wait_for("All done.")
        terminal.wait_for(LOST)
        far.link.restore()
        assert "All done." in terminal.wait_for(BACK)
        quit_screen(terminal)


def test_an_engine_without_work_survives_breaks_in_a_row(far: FarMachine):
    with started(far, far.user.script(finish("All done."))) as terminal:
        (engine,) = far.user.engines()
        for number in range(1, 5):
            far.link.cut()
            far.link.restore()
            terminal.wait_until(lambda text, times=number: text.count(BACK) == times, "the connection to be back")
        assert far.user.engine().pid == engine.pid
        send(terminal, "begin")
        terminal.wait_for("All done.")
        quit_screen(terminal)
