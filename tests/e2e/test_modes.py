"""Modes on screen, in plain mode and over the socket: none decides a waiting action; `never` is confirmed first."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing

import pytest

from tests.e2e.test_open_questions import ask, kinds, log
from tests.plain.test_plain import answer, asked, leave
from tests.sandbox import Sandbox, bash, finish, wait_for
from tests.terminal.terminal import Terminal
from workbench.config.modes import MODE_CYCLE
from workbench.protocol.events import ActionDecided, SessionStarted, SettingsChanged


def modes(sandbox: Sandbox) -> list[str]:
    return [event.mode for event in log(sandbox) if isinstance(event, SettingsChanged) and event.mode]


def deciders(sandbox: Sandbox) -> list[str]:
    return [event.by for event in log(sandbox) if isinstance(event, ActionDecided)]


def test_no_mode_key_or_command_decides_a_postponed_question(sandbox: Sandbox):
    with Terminal(ask(sandbox), 140, 34, sandbox.env) as terminal:
        terminal.wait_for("y Approve")
        terminal.press("escape")
        terminal.wait_for("needs approval")
        for _ in range(3 * len(MODE_CYCLE)):  # slowly enough for each to count, and fast
            terminal.press("shift+tab")
            time.sleep(0.05)
        wait_for(lambda: len(modes(sandbox)) == 0 or modes(sandbox) == ["medium"], "no mode on the way to count")
        for mode in ("plan", "high", "ask"):
            terminal.type(f"/mode {mode}\r")
            wait_for(lambda mode=mode: modes(sandbox)[-1:] == [mode], f"the mode {mode}")
        terminal.type("/mode never\r")
        terminal.never_ask()
        wait_for(lambda: modes(sandbox)[-1] == "never", "the mode never")
        terminal.wait_for("still needs")
        time.sleep(0.5)
        assert deciders(sandbox) == []
        assert not (sandbox.project / "made-it").exists()
        terminal.press("ctrl+q")
        terminal.wait_exit()
    wait_for(lambda: not sandbox.processes(), "every process to be gone")
    with Terminal(["resume", "--last", "--mode", "never"], 140, 34, sandbox.env) as terminal:
        terminal.never_ask()
        terminal.wait_for("y Approve")
        assert deciders(sandbox) == []
        terminal.press("y")
        terminal.wait_for("As you wish.")
        terminal.press("ctrl+q")
        terminal.wait_exit()
    assert deciders(sandbox)[0] == "person"


@pytest.mark.parametrize("source", ["flag", "environment", "settings"])
def test_never_ask_mode_starts_a_session_only_after_confirmation(sandbox: Sandbox, source: str):
    arguments = list(ask(sandbox))
    if source == "flag":
        arguments += ["--mode", "never"]
    elif source == "environment":
        sandbox.env["OHW_MODE"] = "never"
    else:
        sandbox.locations.config.mkdir(parents=True)
        sandbox.locations.settings_file.write_text('mode = "never"\n')
    with Terminal(arguments, 140, 34, sandbox.env) as terminal:
        terminal.wait_for("Don't ask in this session?")
        assert sandbox.engines() == []
        terminal.wait_for("n Keep asking")
        terminal.press("n")
        terminal.wait_for("y Approve")
        started = next(event for event in log(sandbox) if isinstance(event, SessionStarted))
        assert started.mode == "medium"
        assert "action_decided" not in kinds(sandbox)
        terminal.press("ctrl+q")


def test_restarted_engine_keeps_the_mode_chosen_since(sandbox: Sandbox):
    with Terminal([*ask(sandbox), "--mode", "never"], 140, 34, sandbox.env) as terminal:
        terminal.never_ask()
        terminal.wait_for("As you wish.")
        terminal.type("/mode ask\r")
        wait_for(lambda: modes(sandbox) == ["ask"], "the mode")
        sandbox.engine().kill()
        terminal.wait_for("The agent process stopped")
        terminal.type("/mode plan\r")
        wait_for(lambda: modes(sandbox)[-1] == "plan", "the new engine to obey")
        assert modes(sandbox) == ["ask", "plan"]
        terminal.press("ctrl+q")


@pytest.mark.parametrize("plain", [False, True], ids=["screen", "plain"])
@pytest.mark.parametrize("forged", [False, True], ids=["ours", "forged"])
def test_mode_stored_by_us_applies_when_the_session_is_reopened(sandbox: Sandbox, plain: bool, forged: bool):
    extra = ("--plain",) if plain else ()
    with Terminal([*ask(sandbox), "--mode", "never"], 140, 34, sandbox.env) as terminal:
        terminal.never_ask()
        terminal.wait_for("As you wish.")
        sandbox.engine().kill()
        terminal.wait_for("The agent process stopped")
        terminal.press("ctrl+q")
        terminal.wait_exit()
    wait_for(lambda: not sandbox.processes(), "every process to be gone")
    (path,) = sandbox.locations.sessions.glob("*.session")
    with closing(sqlite3.connect(path)) as db:
        db.execute("DELETE FROM signatures" if forged else "SELECT 1")
        db.commit()
    with Terminal(["resume", "--last", *extra], 140, 34, sandbox.env) as terminal:
        if forged:
            terminal.wait_for("was not written by ohw")
            wait_for(lambda: modes(sandbox) == ["medium"], "the default mode")
        else:
            terminal.wait_for("As you wish.")
            terminal.type("/mode ask\r")
            wait_for(lambda: modes(sandbox) == ["ask"], "no other change of the mode")
        assert "Don't ask in this session?" not in terminal.text()
        leave(terminal) if plain else (terminal.press("ctrl+q"), terminal.wait_exit())


def test_plain_mode_confirms_never_ask_and_decides_no_open_question(sandbox: Sandbox):
    model = sandbox.script(bash("echo ran >> made-it", risk="HIGH"), finish("As you wish."))
    where = ("--plain", "--model", model, "--workspace", str(sandbox.project))
    with Terminal(("go", *where), 100, 150, sandbox.env) as terminal:
        answer(terminal, "later")
        asked(terminal, "\n>")
        terminal.type("/mode never\n/mode never\nyes\nyes\n")
        terminal.wait_for("not used as an answer")
        answer(terminal, "no", "Write yes or no:")
        asked(terminal, "\n>")
        assert modes(sandbox) == []
        terminal.type("/mode never\n")
        answer(terminal, "yes", "Write yes or no:")
        wait_for(lambda: modes(sandbox) == ["never"], "the mode")
        terminal.wait_for("still needs")
        assert deciders(sandbox) == []
        leave(terminal)
    with Terminal(("go", *where, "--mode", "never"), 100, 150, sandbox.env) as terminal:
        answer(terminal, "no", "Write yes or no:")
        asked(terminal)
        terminal.press("ctrl+d")
