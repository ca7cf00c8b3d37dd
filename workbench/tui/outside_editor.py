"""A text in the person's own editor, while the screen steps back. Used by the question and whoever edits text."""

from __future__ import annotations

import os
import shlex
import tempfile
from pathlib import Path

from textual.app import App, SuspendNotSupported

from workbench.errors import WorkbenchError
from workbench.processes import run

_USUAL = "vi"


def edit_outside(app: App[None], text: str, name: str) -> str:
    """The text as the editor leaves it, byte for byte; raises WorkbenchError with one line when that did not work.

    `name` is the name of a file of its kind, so that the editor knows how to colour it.
    """
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or _USUAL
    with tempfile.TemporaryDirectory(prefix="ohw-edit-") as folder:
        file = Path(folder, f"text{Path(name).suffix}")
        try:
            file.write_bytes(text.encode())
            with app.suspend():
                code = run([*shlex.split(command), str(file)], cwd=folder, is_users=True).returncode
            if code:
                raise WorkbenchError(f"{Path(command).name} ended with code {code}; nothing was taken over")
            return file.read_bytes().decode()
        except SuspendNotSupported as error:
            raise WorkbenchError("another program cannot have this terminal") from error
        except (OSError, ValueError) as error:
            raise WorkbenchError(f"{command}: {error}; set EDITOR to your editor") from error
