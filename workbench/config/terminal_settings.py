"""The settings of the terminal: the table `[terminal]`."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.config.setting_kinds import (
    NEXT_START,
    NOW,
    OneOf,
    Strings,
    Switch,
    Template,
    checked_table,
    setting,
)
from workbench.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import dataclass
    from typing import Literal, TypeAlias

    Auto: TypeAlias = Literal["auto"] | bool
else:

    def dataclass(**_: object) -> object:
        """Return a decorator that changes nothing: the module `settings` makes the class a dataclass."""
        return lambda table: table


@dataclass(frozen=True)
class TerminalSettings:
    """The table `[terminal]`: how the screen uses the terminal and the desktop."""

    title: Auto = setting(
        "auto", Switch(auto=True), "Title", "Directory and state in the window's title.", takes_effect=NEXT_START
    )
    progress: Auto = setting(
        "auto",
        Switch(auto=True),
        "Progress",
        "A progress mark on the tab while the agent works.",
        takes_effect=NEXT_START,
    )
    notice: Auto = setting(
        "auto",
        Switch(auto=True),
        "Desktop notifications",
        "A notification when the agent needs you or a run ends and the window is not in front.",
        takes_effect=NEXT_START,
    )
    notice_command: tuple[str, ...] = setting(
        (),
        Strings('words, such as ["notify-send", "ohw"]'),
        "Notification command",
        "A command for each notification; it gets the text as its last argument.",
        takes_effect=NOW,
        unset="none",
    )
    bell: bool = setting(
        True, Switch(), "Bell", "Ring when an action needs approval and cannot be seen.", takes_effect=NOW
    )
    mouse: bool = setting(
        True,
        Switch(),
        "Mouse",
        "Clicks and the wheel work; without it the terminal selects by itself.",
        takes_effect=NEXT_START,
    )
    select_copies: bool = setting(
        True, Switch(), "Copy on select", "Copy what is selected with the mouse.", takes_effect=NOW
    )
    clipboard: bool = setting(
        True, Switch(), "Clipboard", "Copy to the system clipboard with a program of the system too.", takes_effect=NOW
    )
    keymap: str = setting(
        "default", OneOf("default", "vim", "emacs"), "Keymap", "Keys of the prompt; `vim = true` is the older form."
    )
    status_line: str = setting("", Template(), "Status line", "Template of the first line; see the guide.")
    motion: bool = setting(
        True, Switch(), "Animations", "Smooth movement and a blinking cursor.", takes_effect=NEXT_START
    )
    ascii: Auto = setting(
        "auto", Switch(auto=True), "ASCII", "Draw with ASCII characters only.", takes_effect=NEXT_START
    )


def read_terminal(values: object) -> TerminalSettings:
    """Return the settings in the table `[terminal]`. Raises a UsageError that names an invalid key or value."""
    if not isinstance(values, Mapping):
        raise UsageError("terminal must be a table: [terminal]")
    entries = dict(values)
    if "vim" in entries:  # the name of this setting before there was a third keymap
        is_vim = Switch().check("terminal.vim", entries.pop("vim"))
        entries.setdefault("keymap", "vim" if is_vim else "default")
    return TerminalSettings(**checked_table(TerminalSettings, "terminal", entries))
