"""Edits a text in the user's own editor while the app is suspended."""

from __future__ import annotations

import os
import shlex
import signal
import tempfile
import termios
import threading
from pathlib import Path

from textual.app import App, SuspendNotSupported

from workbench.errors import WorkbenchError
from workbench.processes.spawn import start
from workbench.tui.signals import ENDING

_USUAL = "vi"
_PATIENCE = 0.7
"""Seconds that the editor has to exit on its own when a signal ends us."""


def edit_outside(app: App[None], text: str, name: str) -> str:
    """Open a text in `$VISUAL`, `$EDITOR` or vi, and return it as the editor saved it, byte for byte.

    The suffix of `name` tells the editor the type of the text. Raises WorkbenchError, with one line, if editing fails.
    """
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or _USUAL
    with tempfile.TemporaryDirectory(prefix="ohw-edit-") as directory:
        file = Path(directory, f"text{Path(name).suffix}")
        try:
            file.write_bytes(text.encode())
            with app.suspend():
                code = _run([*shlex.split(command), str(file)], directory)
            if code:
                raise WorkbenchError(f"{Path(command).name} ended with code {code}; nothing was changed")
            return file.read_bytes().decode()
        except SuspendNotSupported as error:
            raise WorkbenchError("another program cannot have this terminal") from error
        except (OSError, ValueError) as error:
            raise WorkbenchError(f"{command}: {error}; set EDITOR to your editor") from error


def _run(command: list[str], directory: str) -> int:
    """Run the editor until it exits and return its exit code.

    This blocks the event loop. A signal that would end us ends the editor first and is handled afterwards. Ctrl+z in
    the editor stops us too; otherwise the shell would never get the terminal back. The terminal's modes are restored.
    """
    modes = termios.tcgetattr(0) if os.isatty(0) else None
    process = start(command, cwd=directory, is_users=True)

    def end(*_: object) -> None:
        process.terminate()
        insisting = threading.Timer(_PATIENCE, process.kill)
        insisting.daemon = True
        insisting.start()

    before = {number: signal.signal(number, end) for number in ENDING}
    before[signal.SIGTSTP] = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
    try:
        return process.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if modes is not None:
            termios.tcsetattr(0, termios.TCSANOW, modes)
