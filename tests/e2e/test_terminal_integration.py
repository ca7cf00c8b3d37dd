"""The screen and its terminal: title, focus, bell, clipboard, suspending, sizes, and restoring the terminal."""

from __future__ import annotations

import base64
import os
import signal
import sys
import termios
from collections.abc import Sequence
from pathlib import Path
from random import Random

import psutil
import pytest

from tests.sandbox import Sandbox, bash, finish, wait_for
from tests.terminal.allowed_output import strange
from tests.terminal.screen import Screen
from tests.terminal.terminal import Terminal

GIVEN_BACK = (b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?2004l", b"\x1b[?1004l", b"\x1b[23;2t")


UNDER_A_SHELL = {
    "python": "/bin/bash",
    "program": ["--norc", "-ic", f'{sys.executable} -m workbench "$@"; echo back in the shell; read; fg', "bash"],
}
"""An interactive shell that runs the screen as a job, and continues it after a line is typed."""


def screen(
    sandbox: Sandbox,
    *turns: dict,
    python: str = sys.executable,
    program: Sequence[str] = ("-m", "workbench"),
    **env: str,
) -> Terminal:
    args = ("go", "--model", sandbox.script(*turns), "--mode", "high", "--workspace", str(sandbox.project))
    return Terminal(args, 110, 34, sandbox.env | env, python=python, program=program)


def sent(terminal: Terminal, sequence: str, seconds: float = 30.0) -> None:
    """Wait until the terminal has received these bytes."""
    terminal.wait_until(lambda _: sequence.encode() in terminal.raw, f"{sequence!r} to be sent", seconds)


def held(sandbox: Sandbox) -> tuple[Path, str]:
    """Return a command that runs until a file exists."""
    go = sandbox.project / "go"
    return go, f"touch begun; while [ ! -e {go} ]; do sleep 0.05; done"


def wait_for_stop(terminal: Terminal) -> None:
    """Wait until the process has stopped, and read all that it wrote before."""
    process = psutil.Process(terminal.pid)

    def has_stopped() -> bool:
        terminal.text()  # no output may wait for a full terminal
        return process.status() == psutil.STATUS_STOPPED

    wait_for(has_stopped, "it to stop")
    terminal.text()


def test_title_progress_and_notice_for_a_window_in_the_background(sandbox: Sandbox):
    go, waits = held(sandbox)
    name = sandbox.project.name
    more = {"TERM": "xterm-ghostty", "TERM_PROGRAM": "ghostty"}
    with screen(sandbox, bash(waits), bash("touch made-it", risk="HIGH"), finish("All done."), **more) as terminal:
        sent(terminal, f"\x1b]2;ohw {name} - working\x07")
        sent(terminal, "\x1b]9;4;3;0\x07")
        terminal.type("\x1b[O")  # the window is no longer in front
        wait_for((sandbox.project / "begun").exists, "the command to run")
        terminal.text()
        go.touch()
        sent(terminal, f"\x1b]9;ohw {name}: a question needs your answer\x07")
        sent(terminal, f"\x1b]2;ohw {name} - needs you\x07")
        terminal.type("\x1b[I")
        terminal.wait_for("y Approve")
        terminal.press("y")
        terminal.wait_for("All done.")
        sent(terminal, f"\x1b]2;ohw {name}\x07")
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0
        shown_last = terminal.raw.rfind(b"All done.")
        assert all(terminal.raw.rfind(end) > shown_last for end in (*GIVEN_BACK, b"\x1b]9;4;0;0\x07"))
        assert strange(terminal.raw, bells=1) == []


def test_disabled_sequences_are_not_sent(sandbox: Sandbox):
    sandbox.locations.settings_file.parent.mkdir(parents=True)
    sandbox.locations.settings_file.write_text(
        "[terminal]\ntitle = false\nprogress = false\nnotice = false\nmouse = false\n"
    )
    with screen(sandbox, finish("All done."), TERM="xterm-ghostty", TERM_PROGRAM="ghostty") as terminal:
        terminal.wait_for("All done.")
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0
    assert not any(part in terminal.raw for part in (b"\x1b]2;", b"\x1b]9;", b"\x1b[22;2t", b"\x1b[?1000h"))


def test_no_color_sends_no_colors(sandbox: Sandbox):
    with screen(sandbox, bash("touch made-it", risk="HIGH"), finish(), NO_COLOR="1") as terminal:
        terminal.wait_for("y Approve")
        terminal.wait_for("HIGH")
        assert not _colours(terminal.raw)
        assert b"\x1b[1m" in terminal.raw
        assert b";7m" in terminal.raw or b"\x1b[7m" in terminal.raw
        terminal.press("ctrl+q")


def _colours(raw: bytes) -> set[str]:
    import re

    return set(re.findall(r"[34]8;[25];[\d;]+|\x1b\[[\d;]*\b(?:3|4|9|10)[0-7]m", raw.decode(errors="replace")))


def test_selection_is_copied_by_the_terminal_and_a_program(sandbox: Sandbox):
    tools = sandbox.home / "bin"
    tools.mkdir()
    program = tools / "wl-copy"
    program.write_text(f"#!/bin/sh\ncat > {sandbox.home}/clipboard\n")
    program.chmod(0o755)
    more = {"WAYLAND_DISPLAY": "wayland-1", "PATH": f"{tools}:{os.environ['PATH']}"}
    with screen(sandbox, finish("A sentence to copy."), **more) as terminal:
        screen_text = terminal.wait_for("  A sentence to copy.")
        terminal.wait_for("✓ Finished")
        row = next(
            at for at, line in enumerate(screen_text.splitlines(), 1) if line.startswith("  A sentence to copy.")
        )
        column = 3
        terminal.type(f"\x1b[<0;{column};{row}M\x1b[<32;{column + 5};{row}M\x1b[<32;{column + 10};{row}M")
        terminal.type(f"\x1b[<0;{column + 10};{row}m")
        wait_for((sandbox.home / "clipboard").exists, "the program to be given the text")
        wait_for(lambda: "sentence" in (sandbox.home / "clipboard").read_text(), "all of the text")
        text = (sandbox.home / "clipboard").read_text()
        sent(terminal, f"\x1b]52;c;{base64.b64encode(text.encode()).decode()}\x07")
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0


@pytest.mark.parametrize(
    "stops",
    [[signal.SIGTSTP], [signal.SIGSTOP], [signal.SIGTSTP, signal.SIGTSTP], []],
    ids=["SIGTSTP", "SIGSTOP", "SIGTSTP twice", "SIGCONT alone"],
)
def test_continued_at_the_same_size_the_screen_is_redrawn_and_takes_keys(sandbox: Sandbox, stops: list[signal.Signals]):
    with Terminal(
        ["--model", sandbox.script(finish("x")), "--workspace", str(sandbox.project)], 110, 34, sandbox.env
    ) as it:
        before = termios.tcgetattr(it.process.child_fd)
        it.wait_for("Ask anything")
        it.type("half a")
        it.wait_for("half a")
        for number in stops:
            os.kill(it.pid, number)
        if stops:
            wait_for_stop(it)
            it.screen = Screen(110, 34)  # a shell wrote over it
        for _ in range(3):
            os.kill(it.pid, signal.SIGCONT)
        it.type(" thought")
        it.wait_for("half a thought")
        it.wait_for("F1 Help")
        os.kill(it.pid, signal.SIGTERM)
        assert it.wait_exit() == 143
        assert not it.screen.is_alternate
        assert termios.tcgetattr(it.process.child_fd) == before


@pytest.mark.parametrize("env", [{"COLUMNS": "1"}, {"LINES": "1"}, {"COLUMNS": "1", "LINES": "1"}, {"COLUMNS": "x"}])
def test_size_comes_from_the_terminal_not_the_environment(sandbox: Sandbox, env: dict[str, str]):
    with screen(sandbox, finish("All done."), **env) as terminal:
        terminal.wait_for("All done.")
        terminal.wait_for("F1 Help")
        assert any(len(line) > 100 for line in terminal.screen.lines)
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0


@pytest.mark.parametrize("by_key", [True, False], ids=["ctrl+z", "SIGTSTP"])
def test_suspended_session_continues(sandbox: Sandbox, by_key: bool):
    go, waits = held(sandbox)
    with screen(sandbox, bash(waits), finish("All done."), **(UNDER_A_SHELL if by_key else {})) as terminal:
        wait_for((sandbox.project / "begun").exists, "the command to run")
        terminal.wait_for("touch begun")
        terminal.type("half a thought")
        terminal.wait_for("half a thought")
        before = len(terminal.raw)
        if by_key:
            terminal.press("ctrl+z")
            terminal.wait_for("back in the shell")
        else:
            os.kill(terminal.pid, signal.SIGTSTP)
            wait_for_stop(terminal)
        assert not terminal.screen.is_alternate
        assert [end for end in GIVEN_BACK if end not in terminal.raw[before:]] == []
        assert terminal.raw[before:].count(b"\x1b[23;2t") == 1  # the title below is somebody else's
        go.touch()
        terminal.resize(90, 30)
        if by_key:
            terminal.type("go on\r")
        else:
            os.kill(terminal.pid, signal.SIGCONT)
        terminal.wait_for("All done.")
        terminal.wait_for("half a thought")
        assert terminal.screen.is_alternate
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0
        assert "Traceback" not in terminal.text()


def test_key_to_suspend_stops_nothing_that_no_shell_would_continue(sandbox: Sandbox):
    with screen(sandbox, finish("All done.")) as terminal:
        terminal.wait_for("All done.")
        terminal.press("ctrl+z")
        terminal.type("still here")
        terminal.wait_for("still here")
        assert psutil.Process(terminal.pid).status() != psutil.STATUS_STOPPED
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0


def test_two_hundred_resizes_in_two_seconds_keep_the_question(sandbox: Sandbox):
    edges = [(1, 1), (500, 200), (2, 50), (500, 1), (1, 200), (300, 3), (40, 12), (80, 24)]
    between = Random(6)
    sizes = [edges[n % 8] if n % 2 else (between.randint(1, 500), between.randint(1, 200)) for n in range(200)]
    with screen(sandbox, bash("touch made-it", risk="HIGH"), finish("All done.")) as terminal:
        terminal.wait_for("y Approve")
        assert any(terminal.resize_often(sizes, 1.0) < 2.0 for _ in range(5))
        terminal.resize(110, 34)
        approves(terminal)
        terminal.wait_for("All done.", 60)
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0
        assert b"Traceback" not in terminal.raw
    assert (sandbox.project / "made-it").exists()


def approves(terminal: Terminal) -> None:
    """Press the key until it is accepted; a frame of a size at which the text was cut off may still be shown."""
    for _ in range(10):
        terminal.wait_until(lambda screen: "y Approve" in screen or "All done." in screen, "the question", 60)
        terminal.press("y")
        try:
            terminal.wait_until(lambda screen: "Esc Not now" not in screen, "the question to be answered", 10)
        except AssertionError:
            continue
        return


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_signal_restores_the_window(sandbox: Sandbox, number: signal.Signals):
    with screen(sandbox, bash("touch made-it", risk="HIGH"), finish()) as terminal:
        terminal.wait_for("y Approve")
        before = len(terminal.raw)
        os.kill(terminal.pid, number)
        if number == signal.SIGINT:
            terminal.wait_for("Ctrl+C again")
            os.kill(terminal.pid, number)
        assert terminal.wait_exit() == 128 + number
        assert [end for end in GIVEN_BACK if end not in terminal.raw[before:]] == []
    wait_for(lambda: not sandbox.processes(), "every process to be gone")


def test_screen_survives_a_thousand_random_sizes_and_ends_on_a_signal(sandbox: Sandbox):
    chance = Random(7)
    columns = [1, 2, 3, 4, 5, 7, 20, 80, 160, 500]
    rows = [1, 2, 3, 5, 12, 40, 200]
    with screen(sandbox, bash("touch made-it", risk="HIGH"), finish("All done.")) as terminal:
        terminal.wait_for("touch made-it")
        for _ in range(10):
            sizes = [(chance.choice(columns), chance.choice(rows)) for _ in range(100)]
            terminal.resize_often(sizes, 2.0)
        terminal.resize(110, 34)
        terminal.wait_for("touch made-it")
        terminal.wait_for("y Approve")
        terminal.resize_often([(chance.choice(columns), chance.choice(rows)) for _ in range(30)], 0.5)
        os.kill(terminal.pid, signal.SIGTERM)
        assert terminal.wait_exit(10) == 143
        assert b"Traceback" not in terminal.raw
        shown_last = terminal.raw.rfind(b"\x1b[?1049h")
        assert all(terminal.raw.rfind(end) > shown_last for end in GIVEN_BACK)


def test_thousand_random_sizes_lose_nothing_while_the_agent_works(sandbox: Sandbox):
    chance = Random(11)
    steps = [bash(f"sleep 0.1; seq 1 {number * 20}; echo {number} >> marks") for number in range(40)]
    with screen(sandbox, *steps, finish("All done.")) as terminal:
        before = termios.tcgetattr(terminal.process.child_fd)
        wait_for((sandbox.project / "marks").exists, "the agent to work")
        for _ in range(10):
            sizes = [(chance.randint(1, 500), chance.randint(1, 200)) for _ in range(100)]
            terminal.resize_often(sizes, 1.0)
        terminal.resize(110, 34)
        terminal.wait_for("All done.", 60)
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0
        assert b"Traceback" not in terminal.raw
        assert not terminal.screen.is_alternate
        assert termios.tcgetattr(terminal.process.child_fd)[3] | termios.PENDIN == before[3] | termios.PENDIN
        shown_last = terminal.raw.rfind(b"\x1b[?1049h")
        assert all(terminal.raw.rfind(end) > shown_last for end in GIVEN_BACK)
    assert (sandbox.project / "marks").read_text().split() == [str(number) for number in range(40)]
