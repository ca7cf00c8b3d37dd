"""The sequences sent to each kind of terminal, and the settings for them."""

from __future__ import annotations

from typing import Any

import pytest
from rich.segment import Segment
from textual.color import Color

from tests.sandbox import Sandbox, wait_for
from tests.terminal.allowed_output import strange
from workbench.config.settings import TerminalSettings, read_terminal
from workbench.errors import UsageError
from workbench.tui.terminal.clipboard import copy_command
from workbench.tui.terminal.desktop_notice import notice_kind, notice_sequence, run_notice_command
from workbench.tui.terminal.filters import AsciiFilter
from workbench.tui.terminal.integration import Capabilities, TerminalWindow, capabilities
from workbench.view.state import SessionState

USUAL = TerminalSettings()
EVERYTHING = TerminalSettings(title=True, progress=True, notice=True)
NOTHING = TerminalSettings(title=False, progress=False, notice=False)


@pytest.mark.parametrize(
    ("env", "can"),
    [
        ({"TERM": "xterm-256color"}, Capabilities(title=True)),
        ({"TERM": "linux"}, Capabilities()),
        ({"TERM": "vt100"}, Capabilities()),
        ({}, Capabilities()),
        ({"TERM": "xterm-ghostty", "TERM_PROGRAM": "ghostty"}, Capabilities(True, True, "9")),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm", "TMUX": "/tmp/x"}, Capabilities(title=True)),
        ({"TERM": "foot"}, Capabilities(True, False, "777")),
        ({"TERM": "xterm-256color", "VTE_VERSION": "7600"}, Capabilities(True, False, "777")),
        ({"TERM": "xterm-256color", "WT_SESSION": "1"}, Capabilities(True, True, "")),
        ({"TERM": "xterm-kitty"}, Capabilities(True, False, "99")),
        ({"TERM": "xterm-kitty", "ZELLIJ": "0"}, Capabilities(title=True)),
    ],
)
def test_terminal_gets_the_sequences_it_is_known_to_support(env, can):
    assert capabilities(USUAL, env) == can
    assert capabilities(NOTHING, env) == Capabilities()
    assert capabilities(EVERYTHING, env).title
    assert capabilities(EVERYTHING, env).progress
    assert capabilities(EVERYTHING, env).notice


def test_window_gets_only_changes_and_is_restored():
    sent: list[str] = []
    notices: list[str] = []
    window = TerminalWindow(Capabilities(True, True, "9"), sent.append, notices.append)
    state = SessionState(workspace="/x/evil\x1b]0;n\x07;\u202ename")
    window.begin()
    window.show(state)
    window.show(state)
    state.is_running = True
    window.show(state)
    window.show(state)
    state.waiting.append("a1")
    window.show(state)
    window.notify(state)
    window.end()
    assert [part for part in sent if part.startswith("\x1b]9;4")] == [
        "\x1b]9;4;3;0\x07",
        "\x1b]9;4;4;0\x07",
    ]
    titles = [part for part in sent if part.startswith("\x1b]2;")]
    assert len(titles) == 3
    assert titles[2].endswith(" - needs you\x07")
    assert sent[0] == "\x1b[22;2t"
    assert sent[-1] == "\x1b[23;2t\x1b]9;4;0;0\x07"
    sent += [notice_sequence("9", each, {}) for each in notices]
    assert strange("".join(sent).encode()) == []


@pytest.mark.parametrize(
    ("env", "sequence"),
    [
        ({"TERM": "xterm-kitty"}, "\x1b]99;i=ohw;ohw calc: the agent is done\x1b\\"),
        ({"TERM": "foot"}, "\x1b]777;notify;ohw;ohw calc: the agent is done\x07"),
        ({"TERM": "xterm"}, "\x1b]9;ohw calc: the agent is done\x07"),
        (
            {"TERM": "tmux-256color", "TMUX": "/tmp/s", "KITTY_WINDOW_ID": "1"},
            "\x1bPtmux;\x1b\x1b]99;i=ohw;ohw calc: the agent is done\x1b\x1b\\\x1b\\",
        ),
    ],
)
def test_notification_has_the_form_that_reaches_the_terminal(env, sequence):
    kind = notice_kind(True, env)
    assert notice_sequence(kind, "ohw calc: the agent is done", env) == sequence


def test_command_gets_the_text_as_its_last_argument(tmp_path):
    program = tmp_path / "tell"
    program.write_text(f'#!/bin/sh\nprintf "%s|" "$@" > {tmp_path}/new && mv {tmp_path}/new {tmp_path}/told\n')
    program.chmod(0o755)
    env = {"PATH": str(tmp_path)}
    run_notice_command(["tell", "-t", "ohw"], "it's done; $HOME", env)
    wait_for((tmp_path / "told").exists, "the command to run")
    run_notice_command([], "nothing", env)
    run_notice_command(["absent"], "nothing", env)
    assert (tmp_path / "told").read_text() == "-t|ohw|it's done; $HOME|"


def test_window_without_capabilities_gets_nothing():
    sent: list[str] = []
    window = TerminalWindow(Capabilities(), sent.append, lambda words: None)
    window.begin()
    window.show(SessionState(workspace="/x/y", is_running=True))
    window.notify(SessionState())
    window.end()
    assert sent == []


def test_invalid_setting_names_the_nearest_valid_one(sandbox: Sandbox):
    assert read_terminal({"bell": False, "title": "auto"}) == TerminalSettings(bell=False)
    near = "did you mean 'title'"
    for wrong, words in (({"titel": True}, near), ({"bell": "auto"}, "true or false"), (3, "[terminal]")):
        with pytest.raises(UsageError, match=words.replace("[", r"\[")):
            read_terminal(wrong)
    sandbox.locations.settings_file.parent.mkdir(parents=True)
    sandbox.locations.settings_file.write_text("[terminal]\nbel = true\n")
    done = sandbox.ohw("tools")
    assert (done.returncode, "did you mean 'bell'" in done.stderr, "settings.toml" in done.stderr) == (2, True, True)


def test_ascii_replacements_keep_the_width_in_cells():
    segments = [Segment("│ ✓ ok · 日本 ─┐"), Segment("plain")]
    filtered = AsciiFilter().apply(segments, Color(0, 0, 0))
    assert [part.text for part in filtered] == ["| v ok . ???? -+", "plain"]
    plain = [Segment("as it is")]
    assert AsciiFilter().apply(plain, Color(0, 0, 0)) is plain


def test_clipboard_program_depends_on_the_desktop(tmp_path):
    for name in ("wl-copy", "xsel", "pbcopy"):
        (tmp_path / name).touch(mode=0o755)
    path = {"PATH": str(tmp_path)}
    assert copy_command(path | {"WAYLAND_DISPLAY": "w"}, "linux") == ("wl-copy",)
    assert copy_command(path | {"DISPLAY": ":0"}, "linux") == ("xsel", "--clipboard", "--input")
    assert copy_command(path, "linux") is None
    assert copy_command(path, "darwin") == ("pbcopy",)
    assert copy_command({"PATH": "/nowhere", "DISPLAY": ":0"}, "linux") is None


@pytest.mark.parametrize("has_focus", [True, False], ids=["focus", "no focus"])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"ended": "finished"}, "the agent is done"),
        ({"ended": "error"}, "the run ended with an error"),
        ({"work": "lost", "is_running": True}, "the agent process stopped"),
    ],
    ids=["done", "error", "lost"],
)
def test_end_of_a_run_is_notified_once_and_only_without_focus(change: dict[str, Any], words: str, has_focus: bool):
    sent: list[str] = []
    window = TerminalWindow(Capabilities(), lambda sequence: None, sent.append)
    window.begin()
    state = SessionState(workspace="/x/shop", is_running=True)
    window.show(state, has_focus=has_focus)
    state.waiting.append("a1")
    window.show(state, has_focus=has_focus)
    state.waiting.clear()
    for name, value in {"is_running": False, **change}.items():
        setattr(state, name, value)
    window.show(state, has_focus=has_focus)
    window.show(state, has_focus=has_focus)
    assert sent == ([] if has_focus else [f"ohw shop: {words}"])
