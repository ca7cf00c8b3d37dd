"""Desktop notifications: a control sequence that the terminal turns into one, and a command of the user's."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final, Literal, TypeAlias

from workbench.config.settings import Auto
from workbench.processes.spawn import find_program, run

NoticeKind: TypeAlias = Literal["", "9", "777", "99"]
"""The number of the operating system command (OSC) that the terminal understands; empty for none."""
_KIND_9: Final = frozenset({"iTerm.app", "WezTerm", "ghostty"})
_KIND_777: Final = ("foot", "rxvt")
_TIMEOUT: Final = 10.0
_SEQUENCES: Final[Mapping[NoticeKind, str]] = {
    "": "",
    "9": "\x1b]9;{words}\x07",
    "777": "\x1b]777;notify;ohw;{words}\x07",
    # A later one with the same identifier replaces it.
    "99": "\x1b]99;i=ohw;{words}\x1b\\",
}


def is_multiplexed(env: Mapping[str, str]) -> bool:
    """Return whether a multiplexer is between the program and the terminal: it passes on only what it knows."""
    names = ("TMUX", "STY", "ZELLIJ")
    return any(name in env for name in names) or env.get("TERM", "").startswith(("screen", "tmux"))


def notice_kind(setting: Auto, env: Mapping[str, str]) -> NoticeKind:
    """Return what the setting asks for; "auto" is what the terminal in `env` is known to understand."""
    if setting is False or (setting == "auto" and is_multiplexed(env)):
        return ""
    term = env.get("TERM", "")
    if term.startswith("xterm-kitty") or "KITTY_WINDOW_ID" in env:
        return "99"
    if term.startswith(_KIND_777) or "VTE_VERSION" in env:
        return "777"
    return "9" if setting is True or env.get("TERM_PROGRAM", "") in _KIND_9 else ""


def notice_sequence(kind: NoticeKind, words: str, env: Mapping[str, str]) -> str:
    """Return the sequence for a notification, in the form that tmux passes on if `allow-passthrough` is set there.

    The words must not contain control characters.
    """
    sequence = _SEQUENCES[kind].format(words=words)
    if not sequence or "TMUX" not in env:
        return sequence
    doubled = sequence.replace("\x1b", "\x1b\x1b")
    return f"\x1bPtmux;{doubled}\x1b\\"


def run_notice_command(command: Sequence[str], words: str, env: Mapping[str, str]) -> None:
    """Run the user's command in a thread, with the words as its last argument; do nothing if there is none."""
    program = find_program(command[0], env) if command else None
    if program is not None:
        argv = [program, *command[1:], words]
        threading.Thread(target=_run, args=(argv,), daemon=True, name="ohw-notice").start()


def _run(command: Sequence[str]) -> None:
    with suppress(OSError):
        run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_TIMEOUT,
            start_new_session=True,
        )
