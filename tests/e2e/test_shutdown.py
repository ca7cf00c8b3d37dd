"""How a screen exits after a signal or when its terminal closes, and unusable terminals and sessions."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tests.sandbox import Sandbox, bash, finish, wait_for
from tests.terminal.process_time import seconds_until_gone
from tests.terminal.terminal import Terminal
from workbench.session.session_names import session_path
from workbench.session.storage.session_list import list_sessions

PROMISED = 2.0
"""Seconds after which nothing of a session is left when its screen is told to end."""
_WORK = "touch begun; (setsid sleep 777 &); sleep 888"
GIVEN_BACK = (b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?2004l")


def at_work(sandbox: Sandbox) -> tuple[str, ...]:
    """The arguments of a screen whose agent runs a command that does not end by itself."""
    return ("wait", "--model", sandbox.script(bash(_WORK)), "--mode", "never", "--workspace", str(sandbox.project))


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM, signal.SIGINT])
def test_signal_restores_the_terminal_and_leaves_no_process(sandbox: Sandbox, number: signal.Signals):
    with Terminal(at_work(sandbox), 110, 34, sandbox.env) as terminal:
        terminal.never_ask()
        wait_for((sandbox.project / "begun").exists, "the command to run")
        terminal.wait_for("sleep 888")
        if number == signal.SIGINT:  # the second one counts
            os.kill(terminal.pid, number)
            terminal.wait_for("Ctrl+C again")
        took = seconds_until_gone(sandbox.processes(), lambda: os.kill(terminal.pid, number), terminal.text)
        assert took <= PROMISED
        assert terminal.wait_exit() == 128 + number
        assert all(terminal.raw.rfind(end) > terminal.raw.rfind(b"sleep 888") for end in GIVEN_BACK)
        assert not terminal.screen.is_alternate
        assert "Traceback" not in terminal.text()
    wait_for(lambda: not sandbox.processes(), "every process to be gone", 15)
    assert list_sessions(sandbox.locations)[0].ended == "interrupted"


def test_closed_terminal_leaves_no_process_and_an_intact_session(sandbox: Sandbox):
    with Terminal(at_work(sandbox), 110, 34, sandbox.env) as terminal:
        terminal.never_ask()
        wait_for((sandbox.project / "begun").exists, "the command to run")
        assert seconds_until_gone(sandbox.processes(), terminal.hang_up) <= PROMISED
        wait_for(lambda: not sandbox.processes(), "every process to be gone", 15)
    assert list_sessions(sandbox.locations)[0].ended == "interrupted"


def test_closed_terminal_that_reads_no_more_leaves_no_process(sandbox: Sandbox):
    with Terminal(at_work(sandbox), 110, 34, sandbox.env) as terminal:
        terminal.never_ask()
        wait_for((sandbox.project / "begun").exists, "the command to run")
        for size in range(80):  # each frame waits unread, until the screen cannot write another one
            terminal.process.setwinsize(34 + size % 2, 110)
            time.sleep(0.05)
        assert seconds_until_gone(sandbox.processes(), terminal.hang_up) <= PROMISED
        wait_for(lambda: not sandbox.processes(), "every process to be gone", 15)
    assert list_sessions(sandbox.locations)[0].ended == "interrupted"


def test_quitting_lets_the_run_finish(sandbox: Sandbox):
    go = sandbox.project / "go"
    command = f"touch begun; while [ ! -e {go} ]; do sleep 0.05; done"
    model = sandbox.script(bash(command), finish("All done."))
    with Terminal(
        ("x", "--model", model, "--mode", "never", "--workspace", str(sandbox.project)), 110, 34, sandbox.env
    ) as screen:
        screen.never_ask()
        wait_for((sandbox.project / "begun").exists, "the command to run")
        screen.press("ctrl+q")
        assert screen.wait_exit() == 0
    go.touch()
    wait_for(lambda: not sandbox.processes(), "every process to be gone")
    assert list_sessions(sandbox.locations)[0].ended == "finished"


def test_tiny_terminal_is_accepted(sandbox: Sandbox):
    model = sandbox.script(bash("touch made-it", risk="HIGH"), finish("All done."))
    args = ("make it", "--model", model, "--workspace", str(sandbox.project))
    with Terminal(args, 20, 5, sandbox.env) as terminal:
        wait_for(lambda: [entry for entry in list_sessions(sandbox.locations) if entry.events >= 5], "the question")
        terminal.wait_until(lambda screen: len(screen.split()) > 2, "something to be shown")
        terminal.resize(110, 34)
        terminal.wait_for("y Approve")
        terminal.resize(1, 1)
        terminal.resize(110, 34)
        terminal.wait_for("y Approve")
        terminal.press("y")
        terminal.wait_for("All done.")
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0
        assert "Traceback" not in terminal.text()
    assert (sandbox.project / "made-it").exists()


def test_session_held_by_a_headless_run_is_shown_as_in_use(sandbox: Sandbox):
    process = sandbox.start("run", "the long one", *at_work(sandbox)[1:])
    wait_for((sandbox.project / "begun").exists, "the command to run")
    with Terminal(["resume", "--last"], 110, 34, sandbox.env) as terminal:
        terminal.wait_for("the long one")
        terminal.wait_for("wait until it ends, or end it")
        assert f"{process.pid};" in terminal.text()
        assert process.poll() is None
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


def overwrite_the_middle(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4096:8192] = os.urandom(4096)
    path.write_bytes(bytes(data))


@pytest.mark.parametrize("damage", [cut, overwrite_the_middle])
def test_damaged_session_is_reported_and_its_file_is_unchanged(sandbox: Sandbox, damage):
    assert sandbox.ohw("run", "first", "--model", sandbox.script(finish("Well."))).returncode == 0
    (session,) = list_sessions(sandbox.locations)
    path = session_path(sandbox.locations, session.id)
    damage(path)
    left = path.read_bytes()
    assert "damaged" in sandbox.command("sessions").stdout
    with Terminal(["resume", session.id], 110, 30, sandbox.env) as terminal:
        assert terminal.wait_exit() == 1
        screen_text = " ".join(terminal.text().split())
    assert screen_text.startswith(f"ohw: the session {session.id} cannot be opened")
    assert "Traceback" not in screen_text
    assert path.read_bytes() == left
