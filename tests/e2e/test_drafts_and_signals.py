"""When a process ends: the draft is kept, the terminal restored, and the loss of the engine shown above any screen."""

from __future__ import annotations

import os
import signal
import stat
import termios
import time

import psutil
import pytest

from tests.sandbox import Sandbox, bash, finish, wait_for
from tests.terminal.terminal import Terminal
from workbench.session.session_names import state_directory
from workbench.session.storage.session_list import list_sessions


def screen(sandbox: Sandbox, *args: str, **env: str) -> Terminal:
    return Terminal([*args, "--workspace", str(sandbox.project)], 110, 34, sandbox.env | env)


def end(terminal: Terminal, how: str) -> None:
    """End the program in one of four ways: "kill", "terminate", "hang up" or "quit"; return once it has ended."""
    if how == "kill":
        os.kill(terminal.pid, signal.SIGKILL)
    elif how == "terminate":
        os.kill(terminal.pid, signal.SIGTERM)
    elif how == "hang up":
        terminal.hang_up()
    else:
        terminal.press("ctrl+q")
    wait_for(lambda: not psutil.pid_exists(terminal.pid) or terminal.process.isalive() is False, "it to end")


@pytest.mark.parametrize("ends", ["kill", "terminate", "hang up", "quit"])
def test_unsent_text_is_restored_by_resume(sandbox: Sandbox, ends: str):
    with screen(sandbox, "begin", "--model", sandbox.script(finish("All done."), finish("Again done."))) as terminal:
        terminal.wait_for("All done.")
        terminal.type("a thought of mine")
        terminal.wait_for("a thought of mine")
        (session,) = list_sessions(sandbox.locations)
        draft = state_directory(sandbox.locations, session.id) / "draft"
        if ends == "kill":
            wait_for(lambda: draft.exists() and draft.read_text() == "a thought of mine", "the draft to be kept", 5)
        end(terminal, ends)
    assert draft.read_text() == "a thought of mine"
    assert stat.S_IMODE(draft.stat().st_mode) == 0o600
    with screen(sandbox, "resume", session.id) as terminal:
        terminal.wait_for("a thought of mine")
        terminal.press("enter")
        terminal.wait_for("Again done.")
        wait_for(lambda: not draft.exists(), "the draft to go with the message")
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0


def unsent(sandbox: Sandbox) -> list[str]:
    return [path.read_text() for path in sandbox.locations.data.glob("unsent/*/draft-*")]


@pytest.mark.parametrize("has_model", [True, False])
def test_text_typed_before_the_first_message_is_restored_in_the_next_screen(sandbox: Sandbox, has_model: bool):
    more = ["--model", sandbox.script(finish("All done."))] if has_model else []
    typed = ""
    for ends in ("kill", "terminate", "hang up", "quit"):
        with screen(sandbox, *more) as terminal:
            if not has_model:
                terminal.wait_for("Esc Not now")
                terminal.press("escape")
            terminal.wait_for(typed or ("Ask anything" if has_model else "Connect a model to ask"))
            added = f" before {ends}" if typed else f"a thought before {ends}"
            typed += added
            terminal.type(added)
            terminal.wait_for(typed)
            if ends == "kill":
                wait_for(lambda text=typed: text in unsent(sandbox), "the text to be kept")
            end(terminal, ends)
    with Terminal(["--workspace", str(sandbox.home), *more], 110, 34, sandbox.env) as terminal:
        terminal.wait_for("Ask anything" if has_model else "F1")
        assert "thought before" not in terminal.text(), "it belongs to another directory"
    with screen(sandbox, "--model", sandbox.script(finish("All done."))) as terminal:
        terminal.wait_for(typed)
        terminal.press("enter")
        terminal.wait_for("All done.")
        wait_for(lambda: not list(sandbox.locations.data.glob("unsent/*/*")), "the text to go with the message")
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0


def test_two_new_screens_of_a_directory_keep_separate_drafts(sandbox: Sandbox):
    model = ["--model", sandbox.script(finish("All done."))]
    with screen(sandbox, *model) as first:
        first.wait_for("Ask anything")
        first.type("text of the first")
        wait_for(lambda: list(sandbox.locations.data.glob("unsent/*/*")), "it to be kept")
        with screen(sandbox, *model) as second:
            second.wait_for("Ask anything")
            second.type("and another")
            second.wait_for("and another")
            assert "text of the first" not in second.text()
            wait_for(lambda: len(list(sandbox.locations.data.glob("unsent/*/*"))) == 2, "both to be kept")


def test_dead_engine_is_reported_above_a_question_and_the_answer_starts_another(sandbox: Sandbox):
    model = sandbox.script(bash("touch made-it", risk="HIGH"), finish("All done."))
    with screen(sandbox, "make it", "--model", model) as terminal:
        terminal.wait_for("y Approve")
        sandbox.engine().kill()
        began = time.monotonic()
        screen_text = terminal.wait_for("The agent process stopped", 10)
        assert time.monotonic() - began < 2
        assert "Your next answer or message restarts it" in screen_text
        assert "y Approve" in screen_text
        time.sleep(1)
        terminal.press("y")
        terminal.wait_for("All done.")
        assert (sandbox.project / "made-it").exists()
        assert "The agent process stopped. Your" not in terminal.text().splitlines()[0]


def test_stopped_engine_is_reported_above_a_question_until_it_continues(sandbox: Sandbox):
    model = sandbox.script(bash("touch made-it", risk="HIGH"), finish("All done."))
    with screen(sandbox, "make it", "--model", model) as terminal:
        terminal.wait_for("y Approve")
        engine = sandbox.engine()
        engine.suspend()
        try:
            screen_text = terminal.wait_for("The agent process was stopped and does not respond", 10)
            assert f"kill -CONT {engine.pid}" in screen_text.splitlines()[0]
            assert "y Approve" in screen_text
        finally:
            engine.resume()
        wait_for(lambda: "does not respond" not in terminal.text().splitlines()[0], "the line to go away")
        time.sleep(1)
        terminal.press("y")
        terminal.wait_for("All done.")
        assert (sandbox.project / "made-it").exists()


@pytest.mark.parametrize("open_first", ["f1", "f5", "ctrl+p", "question", "stopped engine"])
def test_sigterm_restores_the_terminal_whatever_is_open(sandbox: Sandbox, open_first: str):
    first = bash("touch made-it", risk="HIGH") if open_first == "question" else bash("true")
    model = sandbox.script(first, finish("All done."))
    with screen(sandbox, "make it", "--model", model) as terminal:
        before = termios.tcgetattr(terminal.process.child_fd)
        terminal.wait_for("y Approve" if open_first == "question" else "All done.")
        raw = termios.tcgetattr(terminal.process.child_fd)
        assert raw != before or not terminal.screen.is_alternate
        if open_first == "stopped engine":
            sandbox.engine().suspend()
        elif open_first != "question":
            terminal.press(open_first)
            time.sleep(0.5)
        os.kill(terminal.pid, signal.SIGTERM)
        began = time.monotonic()
        assert terminal.wait_exit() == 143
        assert time.monotonic() - began < 5
        assert not terminal.screen.is_alternate
        assert termios.tcgetattr(terminal.process.child_fd)[3] & termios.ICANON
        if open_first == "stopped engine":
            sandbox.engine().kill()


@pytest.mark.parametrize("stubborn", [False, True])
def test_sigterm_ends_an_open_editor_first_and_restores_the_terminal(sandbox: Sandbox, stubborn: bool):
    editor = sandbox.home / "editor"
    trap = "trap '' TERM; " if stubborn else ""
    editor.write_text(f"#!/bin/sh\n{trap}stty raw -echo; touch {sandbox.home}/open; while :; do sleep 0.1; done\n")
    editor.chmod(0o755)
    with screen(
        sandbox, "begin", "--model", sandbox.script(finish("All done.")), EDITOR=str(editor), VISUAL=""
    ) as terminal:
        terminal.wait_for("All done.")
        terminal.press("ctrl+g")
        wait_for((sandbox.home / "open").exists, "the editor to open")
        os.kill(terminal.pid, signal.SIGTERM)
        began = time.monotonic()
        assert terminal.wait_exit() == 143
        assert time.monotonic() - began < 5
        assert termios.tcgetattr(terminal.process.child_fd)[3] & termios.ICANON


@pytest.mark.parametrize("after", [0.15, 0.3, 0.5, 0.7, 0.9])
def test_sigterm_during_startup_leaves_a_usable_terminal(sandbox: Sandbox, after: float):
    with screen(sandbox, "--model", sandbox.script(finish("All done."))) as terminal:
        before = termios.tcgetattr(terminal.process.child_fd)
        time.sleep(after)
        os.kill(terminal.pid, signal.SIGTERM)
        assert terminal.wait_exit() == 143
        assert not terminal.screen.is_alternate
        assert termios.tcgetattr(terminal.process.child_fd)[3] == before[3]
