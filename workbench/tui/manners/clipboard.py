"""The clipboard by a program of the system, where there is one: terminals often keep theirs from us."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress

from workbench.processes.start import find_program, run

_PATIENCE = 5.0


def clipboard_program(env: Mapping[str, str], platform: str = sys.platform) -> Sequence[str] | None:
    """The command that takes text for the clipboard on its input."""
    wanted: list[tuple[str, ...]]
    if platform == "darwin":
        wanted = [("pbcopy",)]
    elif "WAYLAND_DISPLAY" in env:
        wanted = [("wl-copy",)]
    elif "DISPLAY" in env:
        wanted = [("xclip", "-selection", "clipboard"), ("xsel", "--clipboard", "--input")]
    else:
        wanted = [("clip.exe",)] if "WSL_DISTRO_NAME" in env else []
    return next((command for command in wanted if find_program(command[0], env)), None)


def put_on_clipboard(text: str, env: Mapping[str, str]) -> None:
    """Give the text to that program, beside everything else; nothing happens where there is none."""
    command = clipboard_program(env)
    if command is not None:
        threading.Thread(target=_give, args=(command, text), daemon=True, name="ohw-clipboard").start()


def _give(command: Sequence[str], text: str) -> None:
    with suppress(OSError):
        run(
            command,
            input=text.encode("utf-8", "replace"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_PATIENCE,
            start_new_session=True,
        )
