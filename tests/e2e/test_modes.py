"""Modes on the real screen, line by line, and over the socket: none decides what waits, and never is confirmed."""

from __future__ import annotations

import time

import pytest

from tests.e2e.test_open_questions import ask, engine_of, kinds, log
from tests.plain.test_plain import answer, asked, leave
from tests.sandbox import World, bash, finish, wait_for
from tests.terminal.terminal import Terminal
from workbench.protocol.events import ActionDecided, SessionStarted, SettingsChanged


def modes(world: World) -> list[str]:
    return [event.mode for event in log(world) if isinstance(event, SettingsChanged) and event.mode]


def deciders(world: World) -> list[str]:
    return [event.by for event in log(world) if isinstance(event, ActionDecided)]


def test_no_key_and_no_command_for_the_mode_decides_a_question_that_was_put_off(world: World):
    with Terminal(ask(world), 140, 34, world.env) as terminal:
        terminal.wait_for("y approve")
        terminal.press("escape")
        terminal.wait_for("needs approval")
        for _ in range(12):  # slowly enough for each to count, and fast
            terminal.press("shift+tab")
            time.sleep(0.05)
        wait_for(lambda: len(modes(world)) == 0 or modes(world) == ["medium"], "no mode on the way to count")
        for mode in ("plan", "high", "ask"):
            terminal.type(f"/mode {mode}\r")
            wait_for(lambda mode=mode: modes(world)[-1:] == [mode], f"the mode {mode}")
        terminal.type("/mode never\r")
        terminal.never_ask()
        wait_for(lambda: modes(world)[-1] == "never", "the mode never")
        terminal.wait_for("still waits")
        time.sleep(0.5)
        assert deciders(world) == []
        assert not (world.project / "made-it").exists()
        terminal.press("ctrl+q")
        terminal.wait_exit()
    wait_for(lambda: not world.processes(), "every process to be gone")
    with Terminal(["resume", "--last", "--mode", "never"], 140, 34, world.env) as terminal:
        terminal.never_ask()
        terminal.wait_for("y approve")
        assert deciders(world) == []
        terminal.press("y")
        terminal.wait_for("As you wish.")
        terminal.press("ctrl+q")
        terminal.wait_exit()
    assert deciders(world)[0] == "person"


@pytest.mark.parametrize("source", ["flag", "environment", "settings"])
def test_a_session_begins_in_the_mode_that_never_asks_only_when_it_is_confirmed(world: World, source: str):
    arguments = list(ask(world))
    if source == "flag":
        arguments += ["--mode", "never"]
    elif source == "environment":
        world.env["OHW_MODE"] = "never"
    else:
        world.locations.config.mkdir(parents=True)
        world.locations.settings_file.write_text('mode = "never"\n')
    with Terminal(arguments, 140, 34, world.env) as terminal:
        terminal.wait_for("Don't ask in this session?")
        assert [each for each in world.processes() if "workbench.engine" in each.cmdline()] == []
        terminal.press("n")
        terminal.wait_for("y approve")
        started = next(event for event in log(world) if isinstance(event, SessionStarted))
        assert started.mode == "medium"
        assert "action_decided" not in kinds(world)
        terminal.press("ctrl+q")


def test_an_engine_that_is_started_again_keeps_the_mode_that_was_chosen_since(world: World):
    with Terminal([*ask(world), "--mode", "never"], 140, 34, world.env) as terminal:
        terminal.never_ask()
        terminal.wait_for("As you wish.")
        terminal.type("/mode ask\r")
        wait_for(lambda: modes(world) == ["ask"], "the mode")
        engine_of(world).kill()
        terminal.wait_for("The agent process stopped")
        terminal.type("/mode plan\r")
        wait_for(lambda: modes(world)[-1] == "plan", "the new engine to obey")
        assert modes(world) == ["ask", "plan"]
        terminal.press("ctrl+q")


def test_line_by_line_never_is_confirmed_and_decides_nothing_that_waits(world: World):
    model = world.script(bash("echo ran >> made-it", risk="HIGH"), finish("As you wish."))
    where = ("--plain", "--model", model, "--workspace", str(world.project))
    with Terminal(("go", *where), 100, 150, world.env) as terminal:
        answer(terminal, "later")
        asked(terminal, "\n>")
        terminal.type("/mode never\n/mode never\nyes\nyes\n")
        terminal.wait_for("not used as an answer")
        answer(terminal, "no", "Write yes or no:")
        asked(terminal, "\n>")
        assert modes(world) == []
        terminal.type("/mode never\n")
        answer(terminal, "yes", "Write yes or no:")
        wait_for(lambda: modes(world) == ["never"], "the mode")
        terminal.wait_for("still waits")
        assert deciders(world) == []
        leave(terminal)
    with Terminal(("go", *where, "--mode", "never"), 100, 150, world.env) as terminal:
        answer(terminal, "no", "Write yes or no:")
        asked(terminal)
        terminal.press("ctrl+d")
