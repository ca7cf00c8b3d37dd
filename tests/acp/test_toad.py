"""Toad as a client of `ohw acp`, where it is installed.

Nothing installs it for the tests: it needs Python 3.14, which no system has that they otherwise run on, and that Python
and Toad together take about two minutes and 400 MB.
"""

from __future__ import annotations

import shlex
import shutil
import sys

import pytest

from tests.acp.test_prompts import edit
from tests.sandbox import Sandbox, bash, finish, wait_for
from tests.terminal.terminal import Terminal

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600)]
COLUMNS, ROWS = 110, 40


@pytest.fixture
def toad() -> str:
    """Return the path of Toad."""
    program = shutil.which("toad")
    if program is None:
        pytest.skip("Toad is not installed; to run this: uv tool install --python 3.14 batrachian-toad")
    return program


def say(terminal: Terminal, text: str) -> None:
    terminal.wait_for("How can I help you today?")
    terminal.type(text)
    terminal.wait_for(f"❯ {text[:30]}")
    terminal.press("enter")


def choose(terminal: Terminal, option: str, downs: int) -> None:
    """Choose an option of a question, which is so many lines below the first."""
    terminal.wait_for(option)
    terminal.wait_for("❯ a Allow once")
    terminal.press(*["down"] * downs)
    terminal.wait_until(lambda screen: any("❯" in line and option in line for line in screen.splitlines()), option)
    terminal.press("enter")


def test_toad_prompts_decides_cancels_and_opens_the_session_again(sandbox: Sandbox, toad: str):
    log = sandbox.home / "toad.log"
    (sandbox.project / "a.txt").write_text("one\ntwo\n")
    tests = bash("python3 -m unittest")
    model = sandbox.script(
        *(edit("two", "three"), finish("Edited."), bash("mkdir made", "HIGH")),
        *(tests, tests, finish("Tested."), bash("rm -rf made", "HIGH")),
    )
    words = [sys.executable, "-m", "workbench", "acp", "--model", model, "--sandbox", "off"]
    # The variables of the Python that runs Toad are not for ours.
    command = shlex.join(["env", "-u", "PYTHONHOME", "-u", "PYTHONPATH", *words])
    env = {**sandbox.env, "TOAD_LOG": str(log)}
    with Terminal(["acp", command, str(sandbox.project)], COLUMNS, ROWS, env, program=(), python=toad) as terminal:
        wait_for(lambda: log.exists() and "available_commands_update" in log.read_text(), "the agent to be ready")
        terminal.wait_for("Ask (medium+)")

        say(terminal, "edit the file")
        choose(terminal, "Allow once", 0)
        terminal.wait_for("Edited.")
        assert (sandbox.project / "a.txt").read_text() == "one\nthree\n"

        say(terminal, "make a directory")
        terminal.wait_for("▲ HIGH: mkdir made")
        choose(terminal, "Reject and stop, to say why", 2)
        terminal.wait_for("rejected by you")

        say(terminal, "run the tests instead")
        choose(terminal, "Always allow in this session: allow $ python3 -m unittest", 1)
        screen = terminal.wait_for("Tested.")
        assert screen.count("python3 -m unittest ✔") == 2

        say(terminal, "delete it all")
        choices = terminal.wait_for("❯ a Allow once")
        assert "▲ HIGH: rm -rf made" in choices
        terminal.press("escape")
        terminal.wait_for("Press esc again")
        terminal.press("escape")
        terminal.wait_for("Turn cancelled")
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0
    assert not (sandbox.project / "made").exists()

    with Terminal([], COLUMNS, ROWS, env, cwd=sandbox.project, program=(), python=toad) as terminal:
        terminal.wait_for("Resume")
        terminal.press("ctrl+r")
        terminal.wait_for("Pick a session to resume")
        terminal.press("enter")
        replayed = terminal.wait_for("delete it all")
        assert "Tested." in replayed
        assert "session/load" in log.read_text()
