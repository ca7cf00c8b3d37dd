"""What a person wants of their terminal: the table `[terminal]` of the settings. Checked by `config`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Literal, TypeAlias

from workbench.errors import UsageError
from workbench.suggest import nearest

Auto: TypeAlias = Literal["auto"] | bool
"""True, false, or whether the terminal is known to understand it."""


@dataclass(frozen=True)
class TerminalSettings:
    """How the screen behaves towards the terminal and the desktop around it."""

    title: Auto = "auto"
    """Folder and state in the window's title."""
    progress: Auto = "auto"
    """A sign of progress on the tab or the task bar while the agent works."""
    notice: Auto = "auto"
    """A notice on the desktop when a question waits and the window is not in front."""
    bell: bool = True
    """Ring when a question waits and cannot be seen."""
    mouse: bool = True
    """Take clicks and the wheel; without it the terminal selects by itself."""
    select_copies: bool = True
    """What is selected with the mouse is copied."""
    clipboard: bool = True
    """Copies go to the system's clipboard by a program of the system too, where there is one."""
    vim: bool = False
    """The prompt has vim's keys, with a normal and an insert mode."""
    motion: bool = True
    """Things may move smoothly and cursors blink."""
    ascii: Auto = "auto"
    """Draw with ASCII alone."""


def read_terminal(values: object) -> TerminalSettings:
    """The table as settings; raises UsageError that names the key and the nearest right one."""
    if not isinstance(values, Mapping):
        raise UsageError("terminal must be a table: [terminal]")
    usual = {entry.name: entry.default for entry in fields(TerminalSettings)}
    for name, value in values.items():
        if name not in usual:
            raise UsageError(f"there is no terminal.{name}; the nearest is terminal.{nearest(str(name), usual, 0.0)}")
        if not isinstance(value, bool) and not (usual[name] == "auto" and value == "auto"):
            words = 'true, false or "auto"' if usual[name] == "auto" else "true or false"
            raise UsageError(f"terminal.{name} must be {words}, not {value!r}")
    return TerminalSettings(**values)
