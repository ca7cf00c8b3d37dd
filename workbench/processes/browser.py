"""Opens a URL in the user's browser, which is started without a shell and never waited for."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

from workbench.processes.spawn import find_program, run

_TIMEOUT: Final = 30.0


def open_command(env: Mapping[str, str], platform: str = sys.platform) -> Sequence[str] | None:
    """Return the command that opens URLs; None if there is no such program, or no desktop to show a browser on."""
    if platform == "darwin":
        names = ["open"]
    else:
        names = ["wslview"] if "WSL_DISTRO_NAME" in env else []
        names += ["xdg-open"] if env.get("DISPLAY") or env.get("WAYLAND_DISPLAY") else []
    return next(((name,) for name in names if find_program(name, env)), None)


def open_in_browser(url: str) -> bool:
    """Open a URL with the system's program; return False if there is none."""
    command = open_command(os.environ)
    if command is not None:
        threading.Thread(target=_open, args=([*command, url],), daemon=True, name="ohw-opener").start()
    return command is not None


def _open(command: Sequence[str]) -> None:
    with suppress(OSError, subprocess.SubprocessError):
        run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_TIMEOUT,
            start_new_session=True,
        )
